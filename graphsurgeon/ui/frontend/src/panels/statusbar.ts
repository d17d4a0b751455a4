// The last line: messages of Python and of the page, the wait for the kernel, and the legend of the colors.
import { sends } from "./parts";
import { make, draw, h, type VNode } from "./vnodes";
import { safeColor } from "../canvas/shapes";
import type { Actions } from "../commands/actions";
import type { Status } from "../model/types.generated";

const SLOW = 300,
  LONG = 10_000;

const LATER = "The kernel has not answered for 10 s: it is busy or has stopped. The picture does not change.";

export class StatusBar {
  readonly element = make("div");
  #kernelStatus: Status | null = null;
  #pageStatus: Status | null = null;
  #timers: number[] = [];
  /** 1: the kernel is slow, 2: it may have stopped */
  #slowness = 0;

  constructor(private readonly actions: Actions) {}

  show(text: string, level: Status["level"] = "info"): void {
    this.#pageStatus = { text, level };
    this.draw();
  }

  /** The number of requests that wait for the kernel. */
  pending(n: number): void {
    const wait = (how: number, after: number) =>
      window.setTimeout(() => {
        this.#slowness = how;
        this.draw();
      }, after);
    this.close();
    this.#timers = n ? [wait(1, SLOW), wait(2, LONG)] : [];
    this.#slowness = n && Math.min(this.#slowness, 1);
    if (!n) this.draw();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  draw(): void {
    const latest = this.actions.model.get("status");
    // a message of Python replaces the message of the page
    if (latest !== this.#kernelStatus) this.#pageStatus = null;
    this.#kernelStatus = latest;
    const status = this.#pageStatus ?? this.#kernelStatus;
    const busy = !!this.#slowness || this.#kernelStatus?.level === "busy";
    const { text, level } =
      this.#slowness && status?.level !== "busy"
        ? { text: this.#slowness > 1 ? LATER : "Waiting for the kernel\u2026", level: "busy" }
        : (status ?? { text: "", level: "info" });
    draw(
      this.element,
      h(
        `div.gs-status.gs-level-${level}`,
        h("div.gs-status-text", { role: "status", "aria-live": "polite", title: text }, text),
        sends(this.actions.post, "cancel", {}, "Cancel", { hidden: !busy }),
        this.#colors(),
      ),
    );
  }

  /** The legend; a click on an entry fades its boxes. */
  #colors(): VNode {
    const { source, destination } = this.actions.model.get("scenes"),
      legends = [source, destination].flatMap(scene => scene?.legend ?? []),
      painted = legends.find(l => l.by !== "family"),
      faded = new Set(legends.flatMap(l => l.faded)),
      entries = (painted ? [painted] : legends).flatMap(l => l.items);
    return h(
      "ul.gs-legend",
      { "aria-label": "Colors" },
      painted?.title && h("li.gs-legend-title", painted.title),
      [...new Map(entries.map(e => [e.key, e])).values()].map(({ key, text, color }) =>
        h(
          "li",
          { key, class: painted ? "" : `gs-f-${key}` },
          h(
            "button.gs-legend-entry",
            {
              "data-verb": "fade",
              "aria-pressed": !faded.has(key),
              title: `${faded.has(key) ? "Show" : "Fade"} ${text}`,
              onclick: () => {
                if (!faded.delete(key)) faded.add(key);
                this.actions.fade([...faded]);
              },
            },
            h("span.gs-swatch", { style: painted && `--gs-hue: ${safeColor(color)}` }),
            text,
          ),
        ),
      ),
    );
  }
}
