// The last line: messages of Python and of the page, the wait for the kernel, and the legend of the colors.
import { sends } from "./parts";
import { make, draw, h, type VNode } from "./vnodes";
import { safeColor } from "../canvas/shapes";
import type { Actions } from "../commands/actions";
import type { Status } from "../model/types.generated";

const SLOW = 300,
  LONG = 10_000;

const LATER = "The kernel has not answered for 10 s: it is busy or has stopped. The picture does not change.";

/** Makes the line of messages. */
export function statusBar(actions: Actions) {
  const element = make("div");
  let kernelStatus: Status | null = null,
    pageStatus: Status | null = null,
    timers: number[] = [],
    /** 1: the kernel is slow, 2: it may have stopped */ slowness = 0;

  function show(text: string, level: Status["level"] = "info"): void {
    pageStatus = { text, level };
    redraw();
  }

  /** The number of requests that wait for the kernel. */
  function pending(n: number): void {
    const wait = (how: number, after: number) =>
      window.setTimeout(() => {
        slowness = how;
        redraw();
      }, after);
    close();
    timers = n ? [wait(1, SLOW), wait(2, LONG)] : [];
    slowness = n && Math.min(slowness, 1);
    if (!n) redraw();
  }

  function close(): void {
    for (const timer of timers) clearTimeout(timer);
  }

  function redraw(): void {
    const latest = actions.model.get("status");
    // a message of Python replaces the message of the page
    if (latest !== kernelStatus) pageStatus = null;
    kernelStatus = latest;
    const status = pageStatus ?? kernelStatus;
    const busy = !!slowness || kernelStatus?.level === "busy";
    const { text, level } =
      slowness && status?.level !== "busy"
        ? { text: slowness > 1 ? LATER : "Waiting for the kernel\u2026", level: "busy" }
        : (status ?? { text: "", level: "info" });
    draw(
      element,
      h(
        `div.gs-status.gs-level-${level}`,
        h("div.gs-status-text", { role: "status", "aria-live": "polite", title: text }, text),
        sends(actions.post, "cancel", {}, "Cancel", { hidden: !busy }),
        legend(),
      ),
    );
  }

  /** The legend; a click on an entry fades its boxes. */
  function legend(): VNode {
    const { source, destination } = actions.model.get("scenes"),
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
                actions.fade([...faded]);
              },
            },
            h("span.gs-swatch", { style: painted && `--gs-hue: ${safeColor(color)}` }),
            text,
          ),
        ),
      ),
    );
  }

  return { element, show, pending, close, draw: redraw };
}
