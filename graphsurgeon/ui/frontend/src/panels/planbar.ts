// The bar at the bottom: the boundary and the copy, if a tensor is marked; the tabs and their details; the buttons of the plan. The tabs
// have their own line if there is a plan. The buttons are next to the status.
import { consume, countOf, figure, focused, hasFocus, rove } from "./dom";
import { openRunForm } from "../commands/forms";
import type { Registry } from "../commands/registry";
import { icon } from "./icons";
import { button, copyButton, field, group, muted, select, sends } from "./parts";
import { tables } from "./plantabs";
import { type Child, make, draw, h, type VNode } from "./vnodes";
import type { MarkedBoundary, Plan, Report, Unmapped, Waits } from "../model/types.generated";
import { runPanel } from "./runpanel";

const LOST = "The kernel stopped. Copy this code, run the cell again, then run the code in a new cell.";

const UNMARKED = "No tensor is marked: press i or o on an op.",
  REGION = "Region: the ops between the boundary inputs and outputs, which a copy copies",
  LEAK = "Leak: a tensor or control input that the region needs, but no boundary input covers",
  UNMAPPED = "Unmapped inputs: boundary inputs of the region for which the plan has no source";

const SOURCES: [Unmapped, string][] = [
  ["placeholder", "add placeholders"],
  ["keep", "read the original"],
  ["include", "copy their ops too"],
  ["refuse", "report an error"],
];

interface Tab {
  id: string;
  text: string;
  n: number;
  warn: boolean;
  body(): VNode;
}

/** Makes the bar. */
export function planBar(id: string, commands: Registry) {
  const element = make("section"),
    /** the buttons, which are after the status */ buttons = make("div"),
    panelId = `${id}-panel`;
  let openTab = "",
    shownTab: string | undefined,
    tabList: Tab[] = [],
    lastFaults = 0,
    /** the code of the applied plans, and the history that it is for */ historyCode: { past: unknown; code: string } | null = null;

  /** Opens a tab of the panel; the errors of a plan open when a step adds them. */
  function show(id: string, focus = false): void {
    openTab = id;
    redraw();
    if (focus) focusTab();
  }

  /** The kernel stopped: nothing can be applied, and the plan is shown as code. */
  function stopKernel(): void {
    if (tabList.some(t => t.id === "code")) openTab = "code";
    redraw();
  }

  function focusSummary(): void {
    if (isMarked(commands.model.get("boundary"))) show("boundary", true);
    else commands.notify(UNMARKED);
  }

  function copyRegion(byKey = false, control: Waits = "auto"): void {
    const [to, unmapped] = [".gs-copy-to", ".gs-copying select"].map(fields => element.querySelector<HTMLInputElement>(fields)!.value) as [
      string,
      Unmapped,
    ];
    void commands.copy({ to: to.trim() || null, unmapped, control }, byKey);
  }

  /** Focuses the first source field of the tab Mapping. */
  function focusMapping(): void {
    element.querySelector<HTMLElement>("td .gs-entered")?.focus();
  }

  function focusTab(): void {
    element.querySelector<HTMLElement>('[role="tab"][tabindex="0"]')?.focus();
  }

  function allTabs(): Tab[] {
    const { model, api, run } = commands,
      boundary = model.get("boundary"),
      plan = model.get("plan"),
      { saved, history: past, steps } = plan,
      faults = plan.faults.length,
      warnings = plan.warnings.length,
      applied = past.filter(one => !one.ahead).length,
      tab = (id: string, text: string, n: number, body: () => VNode, warn = false): Tab => ({ id, text, n, body, warn });
    const report = ({ lines, code }: Report) =>
      h(
        "div",
        h(
          "ul.gs-rows",
          lines.map(line => h("li", line)),
        ),
        codeOf(code, 0),
      );
    const tabs = [
      isMarked(boundary) &&
        tab(
          "boundary",
          "Boundary",
          boundary.inputs.length + boundary.outputs.length,
          () => tables.boundary(boundary, commands, control => copyRegion(false, control)),
          boundary.leaks.length + boundary.control_leaks.length > 0,
        ),
      faults + warnings > 0 &&
        tab("problems", faults ? "Errors" : "Warnings", faults || warnings, () => tables.problems(plan, commands), true),
      steps.length > 0 && [
        plan.inputs.length + Object.keys(plan.scopes).length > 0 &&
          tab("mapping", "Mapping", plan.inputs.length, () => tables.mapping(plan, commands)),
        tab("steps", "Steps", steps.length, () => tables.steps(plan, commands)),
        tab("variables", "Variables", plan.rows, () => tables.variables(plan, commands)),
        tab("names", "New ops", plan.counts.ops, () => tables.names(plan, commands)),
        tab("connections", "Connections", plan.counts.connections, () => tables.connections(plan)),
      ],
      steps.length + applied > 0 && tab("code", "Code", 0, () => codeOf(plan.code, applied, past, api.kernelStopped ? LOST : "")),
      past.length > 0 && tab("history", "History", past.length, () => tables.history(past, commands)),
      "lines" in saved && tab("saved", saved.title, 0, () => report(saved as Report)),
      run && tab("run", "Run", 0, () => runPanel(run, commands), !!(run.bad || run.stop_reason)),
    ];
    return tabs.flat().filter(one => !!one);
  }

  function redraw(): void {
    const boundary = commands.model.get("boundary"),
      plan = commands.model.get("plan"),
      faults = plan.faults.length,
      inTabs = hasFocus(element) && focused().closest(".gs-tabs, .gs-panel");
    // new errors are shown at once, not only counted
    if (faults && !lastFaults) openTab = "problems";
    lastFaults = faults;
    tabList = allTabs();
    const open = tabList.find(t => t.id === openTab),
      canCopy = !!(boundary.ops || commands.state.selected.source.size),
      copy = button({
        text: "Copy to scope\u2026",
        label: "Copy the region to a scope (c)",
        verb: "copy",
        hidden: !canCopy,
        onclick: () => copyRegion(),
      }),
      marked = isMarked(boundary),
      planned = plan.steps.length > 0,
      panel = h(
        "div.gs-panel",
        {
          key: "panel",
          id: panelId,
          role: "tabpanel",
          tabindex: 0,
          hidden: !open,
          "aria-labelledby": open && `${id}-tab-${open.id}`,
        },
        open && { ...open.body(), key: open.id },
      );
    const isOther = shownTab !== open?.id;
    shownTab = open?.id;
    openTab = open?.id ?? "";
    draw(
      element,
      h(
        "section.gs-plan",
        { "aria-label": "Plan", class: planned && "gs-planned" },
        h(
          "div.gs-plan-row",
          { hidden: !marked },
          h("div.gs-summary", { tabindex: -1, role: "group", "aria-label": "Boundary" }, marked && summary(boundary)),
          h("div.gs-copying", { hidden: !canCopy }, copyFields(), marked && copy),
        ),
        // without a plan, the tabs are in the last line, below the panel; the order of Tab is that of the screen
        planned && tabBar(open),
        panel,
        !planned && tabBar(open),
      ),
    );
    if (isOther) element.querySelector(".gs-panel")!.scrollTop = 0;
    draw(buttons, group("div.gs-row.gs-doing", "Plan actions", !marked && copy, planButtons(plan)));
    if (inTabs && !hasFocus(element)) focusTab();
  }

  function tabBar(open: Tab | undefined): VNode {
    const stop = open ?? tabList[0];
    return h(
      "div.gs-tabs",
      { key: "tabs", role: "tablist", "aria-label": "Plan", onkeydown: rove },
      tabList.map(t =>
        h(
          "button.gs-tab",
          {
            key: t.id,
            role: "tab",
            class: t.warn && "gs-warn",
            id: `${id}-tab-${t.id}`,
            "aria-selected": t === open,
            "aria-controls": t === open ? panelId : undefined,
            tabindex: t === stop ? 0 : -1,
            "data-tab": t.id,
            onclick: () => show(t === open ? "" : t.id),
          },
          t.warn && icon("warn"),
          t.text,
          !!t.n && h("span.gs-n", figure(t.n)),
        ),
      ),
    );
  }

  function copyFields(): VNode[] {
    return [
      h("span.gs-word", "Scope:"),
      field({
        class: "gs-copy-to",
        placeholder: "new scope",
        "aria-label": "Scope to copy to",
        "data-verb": "copy",
        onkeydown: (e: KeyboardEvent) => {
          if (e.key !== "Enter" || e.ctrlKey || e.metaKey) return;
          consume(e);
          copyRegion();
        },
      }),
      h("span.gs-word.gs-unmapped", { title: UNMAPPED }, "Other inputs:"),
      select(undefined, SOURCES, {
        class: "gs-select",
        "aria-label": "Other inputs: boundary inputs without a source",
        "data-verb": "copy",
      }),
    ];
  }

  function planButtons(plan: Plan): VNode[] {
    const empty = !plan.steps.length;
    // those that come and go are on the left, so that the others do not move
    return [
      button({
        text: "Compare",
        verb: "run",
        label: "Run the graph before and after the last plan, and compare",
        hidden: !empty || !plan.applied,
        onclick: () => void openRunForm(commands, "applied"),
      }),
      commands.button("try", { text: "Try", hidden: empty }),
      commands.button("save", { text: "Save" }),
      commands.button("undo", { icon: "undo", kind: "quiet" }),
      commands.button("redo", { icon: "redo", kind: "quiet" }),
      commands.button("apply", { text: "Apply", kind: "primary" }),
    ];
  }

  function summary(b: MarkedBoundary): Child[] {
    const leaks = b.leak_count;
    return [
      h("span.gs-tag.gs-tag-in", `\u25b7 ${b.inputs.length} in`),
      h("span.gs-tag.gs-tag-out", `\u25c1 ${b.outputs.length} out`),
      h("span.gs-figure", { title: REGION }, countOf(b.ops, "ops")),
      b.variables > 0 && h("span.gs-figure", countOf(b.variables, "variables")),
      leaks > 0 &&
        h("button.gs-tag.gs-tag-leak", { title: LEAK, onclick: () => show("boundary", true) }, `\u26a0 ${countOf(leaks, "leaks")}`),
      b.problem && h("span.gs-problem", { class: !b.outputs.length && "gs-muted", title: b.problem }, b.problem),
      b.is_reversed && sends(commands.post, "swap_boundary", {}, "Swap", { title: "Swap inputs and outputs" }),
      sends(commands.post, "clear_boundary", {}, "", { icon: "close", kind: "quiet", label: "Clear the boundary" }),
    ];
  }

  /** Code with its copy button. After applied plans there is the code of the whole history too: at once if the plan is empty. */
  function codeOf(text: string, applied: number, past: unknown = null, note = ""): VNode {
    const history = !!past && historyCode?.past === past && historyCode.code,
      code = history || text,
      { insertCell } = commands.model;
    if (applied && !text && !history && !commands.api.kernelStopped) void fetchHistory(past);
    return h(
      "div.gs-code",
      note && muted(note),
      h(
        "div.gs-row",
        !!code && copyButton(code, "Code copied.", commands.notify, { icon: "copy", text: "Copy code" }),
        !!code && !!insertCell && button({ text: "Insert into a new cell", onclick: () => insertCell(code) }),
        applied > 0 &&
          !history &&
          button({ text: `Code of ${countOf(applied, "applied plans")}`, verb: "history_code", onclick: () => fetchHistory(past) }),
      ),
      !!code && h("pre", { tabindex: 0, role: "region", "aria-label": "Python code" }, code),
    );
  }

  async function fetchHistory(past: unknown): Promise<void> {
    if (historyCode?.past === past) return;
    historyCode = { past, code: "" };
    const code = (await commands.send("history_code", {}))?.code;
    if (historyCode.past !== past) return;
    historyCode = code ? { past, code } : null;
    if (code) redraw();
  }

  return { element, buttons, show, stopKernel, focusSummary, copy: copyRegion, focusMapping, draw: redraw };
}

function isMarked(b: MarkedBoundary): boolean {
  return !!(b.inputs.length || b.outputs.length || b.ops);
}
