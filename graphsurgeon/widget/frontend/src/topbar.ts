// The bar at the top: title, view, direction, search.
import { button, fill, h } from "./dom";
import { icon } from "./icons";
import type { Action } from "./table";
import type { Direction, Views } from "./types";

export interface TopEvents {
  foldAll(): void;
  /** What a key does, too. */
  does(action: Action): void;
  views(at: { x: number; y: number }): void;
  turn(direction: Direction): void;
  outline(): void;
  inspector(): void;
  seen(at: { x: number; y: number }): void;
  colours(at: { x: number; y: number }): void;
  leave(): void;
}

export class TopBar {
  private readonly title = h("div", { class: "gs-title" });
  private readonly figures = h("span", { class: "gs-muted gs-title-figures" });
  private readonly scale = button({
    text: "100%",
    label: "Full size (0)",
    kind: "quiet",
    class: "gs-scale",
    press: () => this.events.does("actual"),
  });
  private readonly outline = button({
    icon: icon("left"),
    label: "Outline",
    kind: "quiet",
    "aria-pressed": "true",
    press: () => this.events.outline(),
  });
  private readonly inspector = button({
    icon: icon("right"),
    label: "Inspector",
    kind: "quiet",
    "aria-pressed": "true",
    press: () => this.events.inspector(),
  });
  private readonly turn = button({
    icon: icon("down"),
    label: "Direction",
    kind: "quiet",
    press: () => this.events.turn(this.direction === "TB" ? "LR" : "TB"),
  });
  private readonly back = button({ icon: icon("back"), label: "Back ( , )", kind: "quiet", press: () => this.events.does("back") });
  private readonly forward = button({
    icon: icon("forward"),
    label: "Forward ( . )",
    kind: "quiet",
    press: () => this.events.does("forward"),
  });
  private readonly views: HTMLButtonElement = button({
    icon: icon("views"),
    label: "Views (v)",
    kind: "quiet",
    "aria-haspopup": "menu",
    press: () => this.events.views(below(this.views)),
  });
  private readonly out = button({
    text: "Back",
    label: "Back out of the function",
    kind: "small",
    hidden: true,
    press: () => this.events.leave(),
  });
  private readonly see: HTMLButtonElement = button({
    icon: icon("eye"),
    label: "What is shown (s)",
    kind: "quiet",
    "aria-haspopup": "menu",
    class: "gs-live",
    press: () => this.events.seen(below(this.see)),
  });
  private readonly hues: HTMLButtonElement = button({
    icon: icon("colours"),
    label: "Colours",
    kind: "quiet",
    "aria-haspopup": "menu",
    class: "gs-live",
    press: () => this.events.colours(below(this.hues)),
  });
  readonly element: HTMLElement;
  private direction: Direction = "TB";

  constructor(
    private events: TopEvents,
    search: HTMLElement,
  ) {
    this.element = h(
      "div",
      { class: "gs-top" },
      this.outline,
      this.out,
      this.title,
      this.figures,
      h(
        "div",
        { class: "gs-tools", role: "toolbar", "aria-label": "View" },
        this.back,
        this.forward,
        this.views,
        h("span", { class: "gs-rule" }),
        button({ icon: icon("fold"), label: "Fold all", kind: "quiet", press: () => events.foldAll() }),
        this.turn,
        this.see,
        this.hues,
        h("span", { class: "gs-rule" }),
        button({ icon: icon("fit"), label: "Fit the picture (f)", kind: "quiet", press: () => events.does("fit") }),
        button({ icon: icon("minus"), label: "Zoom out (-)", kind: "quiet", press: () => events.does("out") }),
        this.scale,
        button({ icon: icon("plus"), label: "Zoom in (+)", kind: "quiet", press: () => events.does("in") }),
      ),
      search,
      button({ icon: icon("help"), label: "Keys and signs (?)", kind: "quiet", press: () => events.does("help") }),
      this.inspector,
    );
  }

  update(title: string, figures: string, direction: Direction, inside: string[]): void {
    this.out.hidden = !inside.length;
    fill(this.title, title);
    this.title.title = title.slice(0, 300);
    fill(this.figures, figures);
    this.figures.title = figures;
    if (direction !== this.direction || !this.turn.title) {
      this.direction = direction;
      this.turn.replaceChildren(icon(direction === "TB" ? "down" : "across"));
    }
    const label = direction === "TB" ? "Draw from left to right" : "Draw from top to bottom";
    this.turn.setAttribute("aria-label", label);
    this.turn.title = label;
  }

  places(views: Views | undefined): void {
    this.back.disabled = !views?.back;
    this.forward.disabled = !views?.forward;
  }

  zoomed(k: number): void {
    const text = `${Math.round(k * 100)}%`;
    if (this.scale.textContent !== text) fill(this.scale, h("span", {}, text));
  }

  sides(outline: boolean, inspector: boolean): void {
    this.outline.setAttribute("aria-pressed", String(outline));
    this.inspector.setAttribute("aria-pressed", String(inspector));
  }
}

function below(e: HTMLElement): { x: number; y: number } {
  const r = e.getBoundingClientRect();
  return { x: r.left, y: r.bottom + 4 };
}
