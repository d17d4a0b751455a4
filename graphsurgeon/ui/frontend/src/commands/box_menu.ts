// The context menu of a box.
import type { Actions } from "./actions";
import type { Appearance } from "./appearance";
import type { Pane } from "../canvas/pane";
import type { Edits } from "./edits";
import { choiceOf } from "./choices";
import type { Action } from "./keys";
import type { Box, Group } from "../model/types.generated";
import type { Choice, Position } from "../panels/popup";
import { isFold, opens } from "../state/places";

/** The functions that the menu calls. */
interface BoxMenuActions {
  readonly actions: Actions;
  readonly edits: Edits;
  readonly appearance: Appearance;
  /** Does the action of a key. */ do(action: Action): void;
  /** Lists the boundaries near the selection. */ near(at: Position): Promise<void>;
}

export class BoxMenu {
  readonly #gestures: BoxMenuActions;

  constructor(gestures: BoxMenuActions) {
    this.#gestures = gestures;
  }

  menu(pane: Pane, of: Box | Group, at: Position): void {
    const fold = isFold(of),
      { actions, edits, appearance } = this.#gestures,
      { model, popup } = actions.ui,
      { pendingEdit } = actions.state,
      inSource = pane.name === "source",
      entry = (action: Action, text: string, more: Partial<Choice> = {}): Choice =>
        choiceOf(action, text, () => this.#gestures.do(action), more),
      off = !!actions.refusal(pane),
      cannotMark = { off: !!actions.markRefusal(pane) },
      two = actions.selected[pane.name].size === 2;
    /** Selects the box, unless there is a selection, before an action on the selection. */
    const selected = (act: () => unknown) => (): void => {
      if (!actions.selected.source.size) actions.select(pane, [of.name], "set");
      act();
    };
    const choices: (Choice | false)[] = [
      opens(of) && choiceOf("open", "kind" in of ? "Unfold" : "Fold", () => actions.open(pane, of)),
      entry("select", "Select"),
      !fold && entry("input", "Mark as boundary input", cannotMark),
      !fold && entry("output", "Mark as boundary output", cannotMark),
      inSource &&
        choiceOf(
          "mark_boundary",
          "Mark the boundary of the selection",
          selected(() => this.#gestures.do("mark_boundary")),
        ),
      inSource &&
        choiceOf(
          "near",
          "Boundaries nearby\u2026",
          selected(() => void this.#gestures.near(at)),
        ),
      inSource && entry("copy", model.get("boundary").ops ? "Copy the region to scope\u2026" : "Copy to scope\u2026"),
      !fold &&
        (pendingEdit && pendingEdit.verb !== "connect"
          ? entry("open", "Choose this op", { verb: pendingEdit.verb })
          : entry("connect", pendingEdit ? "Connect to this op" : "Connect from here")),
      inSource && { text: "Find all similar", verb: "find_similar", run: () => void edits.like(pane, of) },
      entry("stitch", "Remove and reconnect", { off }),
      entry("type", "Replace all similar ops\u2026", { off }),
      entry("copy_to_clipboard", "Copy"),
      entry("paste", "Paste"),
      entry("duplicate", "Duplicate", { off }),
      entry("lens", "Focus on its neighborhood", { on: actions.state.lens?.kind === "near" }),
      two && inSource && entry("between", "Select all between the two"),
      two && entry("show_path", "Why does one need the other?"),
      ...appearance.of(of),
      choiceOf("edit", "Edit\u2026", () => edits.menu(pane, of, at), { off }),
    ];
    popup.choose(
      of.label || of.name,
      choices.filter(c => !!c),
      at,
    );
  }
}
