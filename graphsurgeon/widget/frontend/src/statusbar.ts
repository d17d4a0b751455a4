// The last line: what Python says, what the page says, the wait for the kernel, and the legend of the colours.
import { button, fill, h } from "./dom";
import { safeColour } from "./shapes";
import type { Scene, Status } from "./types";

const FAMILIES: [string, string][] = [
  ["conv", "convolution, matmul"],
  ["norm", "normalisation"],
  ["activation", "activation"],
  ["math", "arithmetic"],
  ["shape", "shape"],
  ["state", "variable, constant"],
  ["control", "control"],
  ["other", "other"],
  ["scope", "scope"],
];
const SLOW = 300,
  LATE = 1000,
  LONG = 10_000;

const LATER = "The kernel has not answered for 10 s: it runs a cell, or it is gone. The picture stays as it is.";

export class StatusBar {
  private readonly text = h("div", { class: "gs-status-text", role: "status", "aria-live": "polite" });
  private readonly stop = button({ text: "Cancel", kind: "small", hidden: true, press: () => this.cancel() });
  private readonly legend = h("ul", { class: "gs-legend", "aria-label": "Colours" });
  readonly element = h("div", { class: "gs-status" }, this.text, this.stop, this.legend);
  private said: Status | null = null;
  private own: Status | null = null;
  private slow = 0;
  private late = 0;
  private long = 0;
  private waits = false;
  private waitsLong = false;

  constructor(
    private cancel: () => void,
    private faded: (keys: string[]) => void,
  ) {}

  /** What Python says replaces what the page said. */
  update(status: Status): void {
    this.said = status;
    this.own = null;
    this.draw();
  }

  say(text: string, level: Status["level"] = "info"): void {
    this.own = { text, level };
    this.draw();
  }

  /** The number of requests that wait for the kernel. */
  pending(n: number): void {
    clearTimeout(this.slow);
    clearTimeout(this.late);
    clearTimeout(this.long);
    this.waitsLong = false;
    if (n) {
      this.slow = window.setTimeout(() => {
        this.waits = true;
        this.draw();
      }, SLOW);
      this.late = window.setTimeout(() => {
        this.stop.hidden = false;
      }, LATE);
      this.long = window.setTimeout(() => {
        this.waitsLong = true;
        this.draw();
      }, LONG);
    } else {
      this.waits = false;
      this.draw();
    }
  }

  /** The colours that are there; an entry that is pressed lets its boxes fade. */
  colours(scenes: (Scene | null)[]): void {
    const painted = scenes.find(s => s?.legend && s.legend.by !== "family")?.legend,
      there = new Set(scenes.flatMap(s => s?.boxes.map(b => b.family) ?? []));
    const faded = new Set(scenes.flatMap(s => s?.legend?.faded ?? []));
    const entries: [string, string, string][] = painted
      ? painted.items.map(i => [i.key, i.text, i.colour])
      : FAMILIES.filter(([f]) => there.has(f)).map(([f, text]) => [f, text, ""]);
    const had = this.legend.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.key : undefined;
    fill(
      this.legend,
      painted?.title ? h("li", { class: "gs-legend-title" }, painted.title) : null,
      ...entries.map(([key, text, colour]) => {
        const swatch = h("span", { class: "gs-swatch" });
        if (colour) swatch.style.setProperty("--gs-hue", safeColour(colour));
        return h(
          "li",
          { class: painted ? "" : `gs-f-${key}` },
          h(
            "button",
            {
              type: "button",
              class: "gs-legend-entry",
              "data-key": key,
              "aria-pressed": String(!faded.has(key)),
              title: faded.has(key) ? `Show ${text}` : `Let ${text} fade`,
              on: {
                click: () => {
                  if (!faded.delete(key)) faded.add(key);
                  this.faded([...faded]);
                },
              },
            },
            swatch,
            text,
          ),
        );
      }),
    );
    if (had !== undefined)
      [...this.legend.querySelectorAll<HTMLElement>("button")].find(b => b.dataset.key === had)?.focus({ preventScroll: true });
  }

  close(): void {
    for (const timer of [this.slow, this.late, this.long]) clearTimeout(timer);
  }

  private draw(): void {
    const status = this.own ?? this.said;
    const busy = this.waits || this.said?.level === "busy";
    const shown =
      this.waits && status?.level !== "busy" ? { text: this.waitsLong ? LATER : "Waiting for the kernel\u2026", level: "busy" } : status;
    this.element.className = `gs-status gs-level-${shown?.level ?? "info"}`;
    const text = shown?.text ?? "";
    if (this.text.textContent !== text) fill(this.text, text);
    this.text.title = text.slice(0, 1000);
    this.stop.hidden = !busy;
  }
}
