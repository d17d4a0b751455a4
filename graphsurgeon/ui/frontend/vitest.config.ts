import { defineConfig } from "vitest/config";

// All files share one jsdom, since its start takes longer than the tests; each test mounts a widget of its own.
export default defineConfig({
  test: { environment: "jsdom", include: ["tests/**/*.test.ts"], isolate: false, maxWorkers: 1 },
});
