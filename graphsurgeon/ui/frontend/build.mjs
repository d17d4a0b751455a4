// Bundles src/ into ../static/widget.js, page.js and widget.css; the same input gives the same bytes. `node build.mjs FOLDER` builds elsewhere.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = process.argv[2] ?? join(here, "../static");

await build({
  absWorkingDir: here,
  entryPoints: { widget: "src/widget.ts" },
  outdir: folder,
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  minify: true,
  legalComments: "none",
});
// the code of an exported page
await build({
  absWorkingDir: here,
  entryPoints: { page: "src/page/main.ts" },
  outdir: folder,
  bundle: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  minify: true,
  legalComments: "none",
});
await build({
  absWorkingDir: here,
  entryPoints: { widget: "src/css/widget.css" },
  outdir: folder,
  bundle: true,
  target: "chrome111",
  minify: true,
  legalComments: "none",
});
