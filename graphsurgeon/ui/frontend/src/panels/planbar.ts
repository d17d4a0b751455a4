// The bar at the bottom: the boundary and the copy, if a tensor is marked; the tabs and their details; the buttons of the plan. The tabs
// have their own line if there is a plan. The buttons are next to the status.
import { button, copyButton, count, field, figure, fill, h, consume, hasFocus, muted, small, focused, setAttribute } from "./dom";
import type { Post } from "../model/api";
import { icon } from "./icons";
import { problems, tables } from "./plantabs";
import type { MarkedBoundary, PaneName, Plan, Report, RunReport, State, Unmapped, Verbs, Views, Waits } from "../model/types.generated";
import { runPanel } from "./runpanel";

const LOST = "The kernel stopped. Copy this code, run the cell again, then run the code in a new cell.";

const UNMARKED = "No tensor is marked: press i or o on an op.",
  REGION = "Region: the ops between the boundary inputs and outputs, which a copy copies",
  LEAK = "Leak: a tensor or control input that the region needs, but no boundary input covers",
  UNMAPPED = "Unmapped inputs: boundary inputs of the region for which the plan has no source";

export interface PlanEvents {
  copy(how: Verbs["copy"], byKey: boolean): void;
  /** asks the person to choose a tensor in the picture */ pick(ask: string, take: (tensor: string) => void): void;
  /** asks for other arguments of a step */ editStep(step: number): void;
  apply(): void;
  save(): void;
  /** the script of all that was applied */ history(): Promise<string | null>;
  tryPlan(): void;
  compare(): void;
  showStatus(text: string): void;
  reveal(name: string, pane?: PaneName): void;
}

interface Tab {
  id: string;
  text: string;
  n?: number;
  warn?: boolean;
  body(): Node;
}

export class PlanBar {
  readonly #summary = h("div", { class: "gs-summary", tabindex: -1, role: "group", "aria-label": "Boundary" });
  readonly #scope = field({
    class: "gs-copy-to",
    placeholder: "new scope",
    "aria-label": "Scope to copy to",
    "data-verb": "copy",
  });
  readonly #unmapped = h(
    "select",
    { class: "gs-select", "aria-label": "Other inputs: boundary inputs without a source", "data-verb": "copy" },
    ...(
      [
        ["placeholder", "add placeholders"],
        ["keep", "read the original"],
        ["include", "copy their ops too"],
        ["refuse", "report an error"],
      ] as const
    ).map(([value, text]) => h("option", { value }, text)),
  );
  readonly #copyButton = button({
    text: "Copy to scope\u2026",
    label: "Copy the region to a scope (c)",
    verb: "copy",
    press: () => this.copy(),
  });
  readonly #tabs = h("div", { class: "gs-tabs", role: "tablist", "aria-label": "Plan" });
  readonly #undo = button({ icon: icon("undo"), label: "Undo (Ctrl+Z)", kind: "quiet", verb: "undo", press: () => this.#post("undo", {}) });
  readonly #redo = button({
    icon: icon("redo"),
    label: "Redo (Ctrl+Shift+Z)",
    kind: "quiet",
    verb: "redo",
    press: () => this.#post("redo", {}),
  });
  readonly #applyButton = button({
    text: "Apply",
    kind: "primary",
    label: "Apply the plan (Ctrl+Enter)",
    verb: "apply",
    press: () => this.#events.apply(),
  });
  readonly #saveButton = button({
    text: "Save",
    label: "Save or export a model, a picture or a page (Shift+S)",
    verb: "save",
    press: () => this.#events.save(),
  });
  readonly #tryButton = button({
    text: "Try",
    label: "Apply the plan to a copy, run the copy, and compare (t)",
    verb: "run",
    press: () => this.#events.tryPlan(),
  });
  readonly #compareButton = button({
    text: "Compare",
    verb: "run",
    label: "Run the graph before and after the last plan, and compare",
    press: () => this.#events.compare(),
  });
  readonly #doing = h(
    "div",
    { class: "gs-row gs-doing" },
    this.#saveButton,
    this.#undo,
    this.#redo,
    this.#compareButton,
    this.#tryButton,
    this.#applyButton,
  );
  readonly #panel = h("div", { class: "gs-panel", role: "tabpanel", tabindex: 0, hidden: true });
  readonly #copying: HTMLElement;
  readonly #boundaryRow: HTMLElement;
  readonly element: HTMLElement;
  #openTab = "";
  #tabList: Tab[] = [];
  #faults = 0;
  #tabKey = "";
  #kernelStopped = false;
  /** the code of the applied plans, and the history that it is for */
  #historyCode: { past: unknown; code: string } | null = null;
  #redraw: () => void = () => {};

  readonly #id: string;
  readonly #post: Post;
  readonly #events: PlanEvents;

  constructor(id: string, post: Post, events: PlanEvents) {
    this.#id = id;
    this.#post = post;
    this.#events = events;
    this.#panel.id = `${id}-panel`;
    this.#copying = h(
      "div",
      { class: "gs-copying" },
      h("span", { class: "gs-word" }, "Scope:"),
      this.#scope,
      h("span", { class: "gs-word gs-unmapped", title: UNMAPPED }, "Other inputs:"),
      this.#unmapped,
    );
    this.#boundaryRow = h("div", { class: "gs-plan-row" }, this.#summary, this.#copying);
    this.element = h("section", { class: "gs-plan", "aria-label": "Plan" }, this.#boundaryRow, this.#tabs, this.#panel, this.#doing);
    this.#scope.addEventListener("keydown", e => {
      if (e.key === "Enter" && !e.ctrlKey && !e.metaKey) {
        consume(e);
        this.copy();
      }
    });
    this.#tabs.addEventListener("keydown", e => this.#key(e));
  }

  update(boundary: MarkedBoundary, plan: Plan, views?: Views, run: State["run"] = {}, by = "", selected = 0): void {
    const empty = !plan.steps.length,
      isMarked = !!(boundary.inputs.length || boundary.outputs.length || boundary.ops);
    this.#boundaryRow.hidden = !isMarked;
    this.#summarize(boundary);
    this.element.classList.toggle("gs-planned", !empty);
    this.#copying.hidden = this.#copyButton.hidden = !boundary.ops && !selected;
    // the last line has it if its fields are hidden
    const place = isMarked ? this.#copying : this.#doing;
    if (!place.contains(this.#copyButton)) place[isMarked ? "append" : "prepend"](this.#copyButton);
    this.#redraw = () => this.update(boundary, plan, views, run, by, selected);
    this.#applyButton.disabled = this.#tryButton.disabled = !plan.ready;
    this.#compareButton.hidden = !empty || !plan.applied;
    this.#tryButton.hidden = empty;
    this.#undo.disabled = !views?.undo;
    this.#redo.disabled = !views?.redo;
    const past = plan.history,
      appliedCount = past.filter(one => !one.ahead).length;
    const faults = plan.faults.length,
      warnings = plan.warnings.length;
    this.#tabList = [
      {
        id: "boundary",
        text: "Boundary",
        n: boundary.inputs.length + boundary.outputs.length,
        warn: boundary.leaks.length + boundary.control_leaks.length > 0,
        body: () => tables.boundary(boundary, this.#post, plan.same, control => this.copy(false, control)),
      },
      ...(faults || warnings
        ? [
            {
              id: "problems",
              text: faults ? "Errors" : "Warnings",
              n: faults || warnings,
              warn: true,
              body: () => problems(plan, this.#post, this.#events.editStep, this.#events.reveal),
            },
          ]
        : []),
      ...(plan.inputs.length || Object.keys(plan.scopes).length
        ? [
            {
              id: "mapping",
              text: "Mapping",
              n: plan.inputs.length,
              body: () => tables.mapping(plan, this.#post, this.#events.pick),
            },
          ]
        : []),
      { id: "steps", text: "Steps", n: plan.steps.length, body: () => tables.steps(plan, this.#post, this.#events.editStep) },
      { id: "variables", text: "Variables", n: plan.rows, body: () => tables.variables(plan, this.#post) },
      { id: "names", text: "New ops", n: plan.counts.ops, body: () => tables.names(plan, this.#post) },
      { id: "connections", text: "Connections", n: plan.counts.connections, body: () => tables.connections(plan) },
      { id: "code", text: "Code", body: () => this.#code(plan.code, appliedCount, past, this.#kernelStopped ? LOST : "") },
    ].filter(t => (t.id === "boundary" && isMarked) || t.id === "problems" || (t.id === "code" && appliedCount) || !empty);
    if (past.length) this.#tabList.push({ id: "history", text: "History", n: past.length, body: () => tables.history(past, this.#post) });
    const { saved } = plan;
    if (saved && "lines" in saved)
      this.#tabList.push({ id: "saved", text: (saved as Report).title, body: () => this.#saved(saved as Report) });
    if ("tops" in run) {
      const body = () => runPanel(run as RunReport, this.#post, by, this.#events.reveal, this.#events.showStatus);
      this.#tabList.push({ id: "run", text: "Run", warn: !!(run.bad || run.stop_reason), body });
    }
    // new errors are shown at once, not only counted
    if (faults && !this.#faults) this.#openTab = "problems";
    this.#faults = faults;
    this.#draw();
  }

  /** Opens a tab of the panel; the errors of a plan open when a step adds them. */
  show(id: string, focus = false): void {
    this.#openTab = id;
    this.#draw();
    if (focus) this.element.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus();
  }

  /** The kernel stopped: nothing can be applied, and the plan is shown as code. */
  stopKernel(): void {
    this.#kernelStopped = true;
    this.#redraw();
    if (this.#tabList.some(t => t.id === "code")) this.show("code");
  }

  focusSummary(): void {
    if (this.#boundaryRow.hidden) this.#events.showStatus(UNMARKED);
    else this.show("boundary", true);
  }

  copy(byKey = false, control: Waits = "auto"): void {
    this.#events.copy({ to: this.#scope.value.trim() || null, unmapped: this.#unmapped.value as Unmapped, control }, byKey);
  }

  /** Focuses the first source field of the tab Mapping. */
  focusMapping(): void {
    [...this.#panel.querySelectorAll<HTMLElement>("td .gs-entered")].at(0)?.focus();
  }

  #summarize(b: MarkedBoundary): void {
    const hadFocus = hasFocus(this.#summary),
      leaks = b.leak_count;
    fill(
      this.#summary,
      h("span", { class: "gs-tag gs-tag-in" }, `\u25b7 ${b.inputs.length} in`),
      h("span", { class: "gs-tag gs-tag-out" }, `\u25c1 ${b.outputs.length} out`),
      h("span", { class: "gs-figure", title: REGION }, count(b.ops, "op")),
      b.variables > 0 && h("span", { class: "gs-figure" }, count(b.variables, "variable")),
      leaks > 0 &&
        h(
          "button",
          { class: "gs-tag gs-tag-leak", title: LEAK, on: { click: () => this.show("boundary", true) } },
          `\u26a0 ${count(leaks, "leak")}`,
        ),
      b.problem && h("span", { class: `gs-problem${b.outputs.length ? "" : " gs-muted"}`, title: b.problem }, b.problem),
      b.is_reversed &&
        small("Swap", () => this.#post("swap_boundary", {}), undefined, {
          title: "Swap inputs and outputs",
          verb: "swap_boundary",
        }),
      button({
        icon: icon("close"),
        label: "Clear the boundary",
        kind: "quiet",
        verb: "clear_boundary",
        press: () => this.#post("clear_boundary", {}),
      }),
    );
    if (hadFocus && !this.#boundaryRow.hidden) this.#summary.focus();
  }

  #draw(): void {
    const hadFocus = hasFocus(this.#tabs),
      was = this.#tabKey,
      focusIndex = controls(this.#panel).indexOf(focused());
    const label = nameOf(focused());
    if (this.#openTab && !this.#tabList.some(t => t.id === this.#openTab)) this.#openTab = "";
    const stop = this.#openTab || this.#tabList[0]?.id;
    fill(
      this.#tabs,
      ...this.#tabList.map(t => {
        const on = t.id === this.#openTab;
        return h(
          "button",
          {
            role: "tab",
            class: `gs-tab${t.warn ? " gs-warn" : ""}`,
            id: `${this.#id}-tab-${t.id}`,
            "aria-selected": String(on),
            "aria-controls": on ? this.#panel.id : undefined,
            tabindex: t.id === stop ? 0 : -1,
            "data-tab": t.id,
            on: {
              click: () => {
                this.#openTab = on ? "" : t.id;
                this.#draw();
                this.#refocus(t.id);
              },
            },
          },
          t.warn && icon("warn"),
          t.text,
          !!t.n && h("span", { class: "gs-n" }, figure(t.n)),
        );
      }),
    );
    if (hadFocus) this.#refocus(stop ?? "");
    const tab = this.#tabList.find(t => t.id === this.#openTab);
    this.#panel.hidden = !tab;
    if (tab) setAttribute(this.#panel, "aria-labelledby", `${this.#id}-tab-${tab.id}`);
    else this.#panel.removeAttribute("aria-labelledby");
    fill(this.#panel, tab?.body());
    this.#tabKey = this.#openTab;
    // the pressed control was replaced: the focus goes to its successor, never to the notebook
    if (focusIndex < 0) return;
    const now = was === this.#openTab ? controls(this.#panel) : [];
    if (tab) (now.find(e => nameOf(e) === label) ?? now[Math.min(focusIndex, now.length - 1)] ?? this.#panel).focus();
    else this.#refocus(stop ?? "");
  }

  #refocus(id: string): void {
    [...this.#tabs.children]
      .map(e => e as HTMLElement)
      .find(e => e.dataset.tab === id)
      ?.focus();
  }

  #key(e: KeyboardEvent): void {
    const tabs = [...this.#tabs.children] as HTMLElement[],
      at = tabs.indexOf(focused());
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined || at < 0) return;
    consume(e);
    tabs[(to + tabs.length) % tabs.length]!.focus();
  }

  /** The report of a save or a check, and its code. */
  #saved(saved: Report): HTMLElement {
    return h("div", {}, h("ul", { class: "gs-rows" }, ...saved.lines.map(line => h("li", {}, line))), this.#code(saved.code, 0));
  }

  /** Code with its copy button. After applied plans there is the code of the whole history too: at once if the plan is empty. */
  #code(text: string, applied: number, past: unknown = null, note = ""): HTMLElement {
    const showHistory = async () => {
      if (this.#historyCode?.past !== past) {
        const code = await this.#events.history();
        this.#historyCode = code ? { past, code } : null;
      }
      if (this.#historyCode) show(this.#historyCode.code);
    };
    const place = h("div", { class: "gs-code" }),
      show = (code: string) =>
        fill(
          place,
          note && muted(note),
          h(
            "div",
            { class: "gs-row" },
            !!code && copyButton({ icon: icon("copy"), text: "Copy code" }, code, "Code copied.", this.#events.showStatus),
            applied > 0 &&
              code === text &&
              button({ text: `Code of ${count(applied, "applied plan")}`, verb: "history_code", press: showHistory }),
          ),
          !!code && h("pre", { tabindex: 0, role: "region", "aria-label": "Python code" }, code),
        );
    show(text);
    if (applied && !text && !this.#kernelStopped) void showHistory();
    return place;
  }
}

function controls(panel: HTMLElement): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>("button, select, input, pre")];
}

function nameOf(e: Element | null): string {
  return e?.getAttribute("aria-label") ?? e?.textContent ?? "";
}
