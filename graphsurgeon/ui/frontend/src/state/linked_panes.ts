// The panes before and after the plan: which of them are shown, and their common camera.
import type { Camera, Cameras } from "./cameras";
import { centre, nearest } from "./places";
import type { Actions } from "../commands/actions";
import type { Pane } from "../canvas/pane";
import type { Transform } from "../canvas/view";
import type { PaneName, PlanView } from "../model/types.generated";
import { hasFocus } from "../panels/dom";

const PANES = { before: "source", after: "destination" } as const;

export class LinkedPanes {
  /** Whether the new boxes are far from the old ones, so that both panes show different places. */
  apart = false;
  /** The camera of the picture before the plan, unless the user has moved it since. */
  cameraBefore: Camera | undefined;
  /** The last view of each pane, and whether code is moving it. */
  #transforms = new Map<PaneName, Transform>();
  #byCode = false;
  /** The last view of the plan that this page or another one has chosen. */
  #chosen: PlanView;

  constructor(
    private readonly actions: Actions,
    /** Whether there is space for two panes. */ private readonly isWide: () => boolean,
  ) {
    this.#chosen = actions.model.get("look")?.plan_view ?? "both";
  }

  /** The cameras of both panes. */
  get cameras(): Cameras {
    const { source, destination } = this.actions.panes;
    return { source: source.camera, destination: destination.camera, apart: this.apart };
  }

  /** The views of the plan for which there is space. */
  get views(): PlanView[] {
    return this.isWide() ? ["before", "after", "both"] : ["before", "after"];
  }

  /** The current view of the plan. */
  get view(): PlanView {
    const { alone, active } = this.actions.state;
    return this.isWide() && !alone ? "both" : active === "source" ? "before" : "after";
  }

  /** Chooses a view of the plan, by default the next one. */
  choose(view = this.views[(this.views.indexOf(this.view) + 1) % this.views.length]!): void {
    if (this.actions.isTwoStage) this.#show(view);
    this.tell();
  }

  /** Shows one pane alone although there is space for two, or both again. */
  toggleAlone(pane: Pane): void {
    const { actions } = this;
    actions.store.set({ alone: !actions.state.alone });
    actions.activate(pane.name);
    if (actions.isTwoStage) this.tell();
  }

  /** Sends the view to the kernel and to other views of this widget. Without a plan, the answer is the reason. */
  tell(): void {
    if (!this.actions.api.answers("set_plan_view")) return;
    this.#chosen = this.view;
    this.actions.post("set_plan_view", { show: this.#chosen });
  }

  /** Shows a view that was chosen by code or on another page. */
  adopt(): void {
    const { model, api } = this.actions,
      view = model.get("look")?.plan_view;
    if (!view || view === this.#chosen || api.pending("set_plan_view")) return;
    this.#chosen = view;
    if (this.actions.isTwoStage && this.isWide() && view !== this.view) this.#show(view);
  }

  /** Makes a pane the active one; if it is hidden, it replaces the other pane. */
  activate(name: PaneName): void {
    if (this.view !== "both" && this.actions.state.active !== name && this.actions.isTwoStage)
      this.choose(name === "source" ? "before" : "after");
    else this.actions.activate(name);
  }

  /** Visible boxes keep their places. */
  #show(view: PlanView): void {
    const { actions } = this,
      from = actions.pane,
      { size } = from,
      had = hasFocus(from.element);
    actions.store.set({ alone: view !== "both", active: view === "both" ? from.name : PANES[view] });
    const now = actions.pane;
    this.moveByCode(() => {
      for (const pane of Object.values(actions.panes)) pane.updateSize();
      align(now === from ? this.other(now) : now, from, size);
    });
    if (had) actions.focusPane(); // the pane with the focus may be hidden now
  }

  other(pane: Pane): Pane {
    return this.actions.panes[pane.name === "source" ? "destination" : "source"];
  }

  /** Makes both panes show the same place: that of the active pane, then the new boxes. */
  lineUp(): void {
    if (!this.actions.isTwoStage) return;
    const now = this.actions.pane,
      { source, destination } = this.actions.panes;
    this.moveByCode(() => {
      if (!this.apart) align(this.other(now), now, now.size);
      if (!destination.bring()) return;
      align(source, destination, destination.size);
      this.apart = source.fill();
    });
  }

  /** Moves panes by code; meanwhile, they do not follow each other. */
  moveByCode(act: () => void): void {
    const outer = this.#byCode;
    this.#byCode = true;
    act();
    this.#byCode = outer;
  }

  /** A pane has moved: the other picture of the same graph moves like it. */
  moved(pane: Pane): void {
    const { x, y, k } = pane.view,
      was = this.#transforms.get(pane.name);
    this.#transforms.set(pane.name, { x, y, k });
    if (!was || this.#byCode) return;
    this.cameraBefore = undefined;
    const other = this.other(pane);
    if (pane !== this.actions.pane || !this.actions.isTwoStage || !other.size[0]) return;
    this.actions.panes.destination.dropNewBoxes();
    const act = () => this.moveByCode(() => follow(other, was, pane.view));
    if (pane.isGliding) other.glide(act);
    else act();
  }
}

/** Moves a pane by the same amount as another one, so that nothing jumps. */
export function follow(pane: Pane, before: Transform, now: Transform): void {
  const { x, y, k } = pane.view,
    by = now.k / before.k;
  if (by === 1) pane.view.pan(now.x - before.x, now.y - before.y);
  // a zoom by a factor keeps a point p fixed: x' = p - (p - x) by, so that the remainder is equal for both
  else pane.view.moveTo(x * by + (now.x - before.x * by), y * by + (now.y - before.y * by), k * by);
}

/** Moves a pane so that the box in the middle of another pane has the same place and size, if both panes have it.
 * A hidden pane has no size: then its last size counts. */
export function align(pane: Pane, to: Pane, [w, h] = to.size): void {
  if (!w || !pane.scene || !to.scene) return;
  const [x, y] = to.view.toScene(w / 2, h / 2),
    there = new Set(pane.scene.boxes.map(box => box.name));
  const middle = nearest(
    { x, y, w: 0, h: 0 },
    to.scene.boxes.filter(box => there.has(box.name)),
  );
  const same = middle && pane.scene.boxes.find(box => box.name === middle.name);
  if (!same) return;
  const [px, py] = to.view.toPane(...centre(middle)),
    [sx, sy] = centre(same),
    { k } = to.view;
  pane.view.moveTo(px - sx * k, py - sy * k, k);
}
