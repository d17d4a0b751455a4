// The last line: messages of Python and of the page, the wait for the kernel, and the legend of the colors.
import { fill, focus, h, hasFocus, small, focused } from "./dom";
import { safeColor } from "../canvas/shapes";
import type { Scene, Status } from "../model/types.generated";

const SLOW = 300,
  LONG = 10_000;

const LATER = "The kernel has not answered for 10 s: it is busy or has stopped. The picture does not change.";

export class StatusBar {
  readonly #text = h("div", { class: "gs-status-text", role: "status", "aria-live": "polite" });
  readonly #stop = small("Cancel", () => this.#cancel(), undefined, { hidden: true, verb: "cancel" });
  readonly #legend = h("ul", { class: "gs-legend", "aria-label": "Colors" });
  readonly element = h("div", { class: "gs-status" }, this.#text, this.#stop, this.#legend);
  #kernelStatus: Status | null = null;
  #pageStatus: Status | null = null;
  #timers: number[] = [];
  /** 1: the kernel is slow, 2: it may have stopped */
  #slowness = 0;

  readonly #cancel: () => void;
  readonly #fade: (keys: string[]) => void;

  constructor(cancel: () => void, fade: (keys: string[]) => void) {
    this.#cancel = cancel;
    this.#fade = fade;
  }

  /** A message of Python replaces the message of the page. */
  update(status: Status): void {
    this.#kernelStatus = status;
    this.#pageStatus = null;
    this.#draw();
  }

  show(text: string, level: Status["level"] = "info"): void {
    this.#pageStatus = { text, level };
    this.#draw();
  }

  /** The number of requests that wait for the kernel. */
  pending(n: number): void {
    const wait = (how: number, after: number) =>
      window.setTimeout(() => {
        this.#slowness = how;
        this.#draw();
      }, after);
    this.close();
    this.#timers = n ? [wait(1, SLOW), wait(2, LONG)] : [];
    this.#slowness = n && Math.min(this.#slowness, 1);
    if (!n) this.#draw();
  }

  /** The colors in the picture; a click on an entry fades its boxes. */
  colors(scenes: (Scene | null)[]): void {
    const legends = scenes.flatMap(s => s?.legend ?? []),
      painted = legends.find(l => l.by !== "family");
    const faded = new Set(legends.flatMap(l => l.faded));
    const entries = (painted ? [painted] : legends).flatMap(l => l.items);
    const had = hasFocus(this.#legend) ? focused().dataset.key : undefined;
    fill(
      this.#legend,
      painted?.title ? h("li", { class: "gs-legend-title" }, painted.title) : null,
      ...[...new Map(entries.map(e => [e.key, e] as const)).values()].map(({ key, text, color }) => {
        const swatch = h("span", { class: "gs-swatch" });
        if (painted) swatch.style.setProperty("--gs-hue", safeColor(color));
        return h(
          "li",
          { class: painted ? "" : `gs-f-${key}` },
          h(
            "button",
            {
              class: "gs-legend-entry",
              "data-key": key,
              "data-verb": "fade",
              "aria-pressed": String(!faded.has(key)),
              title: faded.has(key) ? `Show ${text}` : `Fade ${text}`,
              on: {
                click: () => {
                  if (!faded.delete(key)) faded.add(key);
                  this.#fade([...faded]);
                },
              },
            },
            swatch,
            text,
          ),
        );
      }),
    );
    if (had !== undefined) focus([...this.#legend.querySelectorAll<HTMLElement>("button")].find(b => b.dataset.key === had));
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #draw(): void {
    const status = this.#pageStatus ?? this.#kernelStatus;
    const busy = !!this.#slowness || this.#kernelStatus?.level === "busy";
    const shown =
      this.#slowness && status?.level !== "busy"
        ? { text: this.#slowness > 1 ? LATER : "Waiting for the kernel\u2026", level: "busy" }
        : status;
    this.element.className = `gs-status gs-level-${shown?.level ?? "info"}`;
    const text = shown?.text ?? "";
    if (this.#text.textContent !== text) fill(this.#text, text);
    this.#text.title = text.slice(0, 1000);
    this.#stop.hidden = !busy;
  }
}
