// The buttons of commands.
import { type Action, keyOf, verbOf } from "../commands/keys";
import type { Registry } from "../commands/registry";
import { below, button, type ButtonOptions } from "./parts";
import type { VNode } from "./vnodes";

/** A button of a command; a menu opens below it. */
export function does(commands: Registry, action: Action, more: ButtonOptions = {}): VNode {
  return button({
    label: `${commands.label(action)} (${keyOf(action).replace(/^[.,]$/, " $& ")})`,
    verb: verbOf(action),
    disabled: !commands.enabled(action),
    onclick: (e: Event) => commands.do(action, "", below(e)),
    ...more,
  });
}
