// Follows the notebook's theme, because the state colors depend on a light or dark background.

/** Keeps the theme classes of `host` right; returns a function that stops it. */
export function followTheme(host: HTMLElement, wanted: () => "auto" | "light" | "dark"): { update(): void; stop(): void } {
  const update = () => {
    const theme = wanted();
    host.classList.toggle("gs-own-theme", theme !== "auto");
    host.classList.toggle("gs-dark", theme === "auto" ? isDark() : theme === "dark");
  };
  const watch = new MutationObserver(update);
  for (const e of [document.documentElement, document.body]) {
    watch.observe(e, {
      attributes: true,
      attributeFilter: ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-theme", "data-vscode-theme-kind"],
    });
  }
  const media = window.matchMedia?.("(prefers-color-scheme: dark)");
  media?.addEventListener("change", update);
  update();
  return {
    update,
    stop: () => {
      watch.disconnect();
      media?.removeEventListener("change", update);
    },
  };
}

/** Whether the page is dark: by the notebook's theme, then by its background, then by the system. */
export function isDark(): boolean {
  const said = document.body.dataset.jpThemeLight;
  if (said) return said === "false";
  const kind = document.body.dataset.vscodeThemeKind;
  if (kind) return /dark|high-contrast$/.test(kind);
  const ground =
    getComputedStyle(document.documentElement).getPropertyValue("--jp-layout-color0") || getComputedStyle(document.body).backgroundColor;
  const shade = brightness(ground);
  return shade !== null ? shade < 0.5 : !!window.matchMedia?.("(prefers-color-scheme: dark)").matches;
}

/** 0 (black) to 1 (white) of "#rgb", "#rrggbb" or "rgb(...)"; null for anything else and for transparent colors. */
export function brightness(color: string): number | null {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(color.trim())?.[1];
  let rgb: number[] | null = null;
  if (hex) rgb = (hex.length === 3 ? [...hex].map(c => c + c) : hex.match(/../g)!).map(c => parseInt(c, 16));
  const numbers = /^rgba?\(([^)]+)\)$/
    .exec(color.trim())?.[1]
    ?.split(/[\s,/]+/)
    .map(Number);
  if (numbers && (numbers[3] ?? 1) > 0.5) rgb = numbers.slice(0, 3);
  if (!rgb || rgb.length < 3 || rgb.some(Number.isNaN)) return null;
  return (0.299 * rgb[0]! + 0.587 * rgb[1]! + 0.114 * rgb[2]!) / 255;
}
