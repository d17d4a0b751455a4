// The context menu of a box.
import type { Actions } from "./actions";
import type { Appearance } from "./appearance";
import type { Pane } from "../canvas/pane";
import type { Edits } from "./edits";
import type { Action } from "./keys";
import type { Box, Group } from "../model/types";
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
      act = (action: Action) => () => this.#gestures.do(action),
      off = !!actions.refusal(pane);
    const choices: (Choice | false)[] = [
      opens(of) && {
        text: "kind" in of ? "Unfold" : "Fold",
        key: "Enter",
        verb: "kind" in of ? "unfold" : "fold",
        run: () => actions.open(pane, of),
      },
      { text: "Select", key: "Space", verb: "select", run: act("select") },
      !fold && { text: "Mark as boundary input", key: "i", verb: "mark_input", run: act("input"), off: !!actions.markRefusal(pane) },
      !fold && { text: "Mark as boundary output", key: "o", verb: "mark_output", run: act("output"), off: !!actions.markRefusal(pane) },
      pane.name === "source" && {
        text: "Mark the boundary of the selection",
        key: "Shift+B",
        verb: "mark_boundary",
        run: () => {
          if (!actions.selected.source.size) actions.select(pane, [of.name], "set");
          this.#gestures.do("mark_boundary");
        },
      },
      pane.name === "source" && {
        text: "Boundaries nearby\u2026",
        key: "k",
        verb: "suggest_boundaries",
        run: () => {
          if (!actions.selected.source.size) actions.select(pane, [of.name], "set");
          void this.#gestures.near(at);
        },
      },
      pane.name === "source" && {
        text: model.get("boundary").ops ? "Copy the region to scope\u2026" : "Copy to scope\u2026",
        key: "c",
        verb: "copy",
        run: act("copy"),
      },
      !fold &&
        (pendingEdit && pendingEdit.verb !== "connect"
          ? { text: "Choose this op", key: "Enter", verb: pendingEdit.verb, run: act("open") }
          : { text: pendingEdit ? "Connect to this op" : "Connect from here", key: "m", verb: "connect", run: act("connect") }),
      pane.name === "source" && { text: "Find all similar", verb: "find_similar", run: () => void edits.like(pane, of) },
      { text: "Remove and reconnect", key: "Del", verb: "remove", run: act("stitch"), off },
      { text: "Replace all similar ops\u2026", key: "y", verb: "replace", run: act("type"), off },
      { text: "Copy", key: "Ctrl+C", verb: "copy_to_clipboard", run: act("copy_to_clipboard") },
      { text: "Paste", key: "Ctrl+V", verb: "paste", run: act("paste") },
      { text: "Duplicate", key: "Ctrl+D", verb: "duplicate", run: act("duplicate"), off: !!actions.refusal(pane) },
      { text: "Focus on its neighborhood", key: "q", on: actions.state.lens?.kind === "near", run: act("lens") },
      actions.selected[pane.name].size === 2 &&
        pane.name === "source" && { text: "Select all between the two", key: "j", verb: "select_between", run: act("between") },
      actions.selected[pane.name].size === 2 && {
        text: "Why does one need the other?",
        key: "u",
        verb: "show_path",
        run: act("show_path"),
      },
      ...appearance.of(of),
      { text: "Edit\u2026", key: "e", verb: "rename", run: () => edits.menu(pane, of, at), off },
    ];
    popup.choose(
      of.label || of.name,
      choices.filter(c => !!c),
      at,
    );
  }
}
