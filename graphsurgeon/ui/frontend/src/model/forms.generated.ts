// The fields of the forms of commands, written from their signatures in graphsurgeon/ui/commands by
// tools/write_verbs.py. The kernel sends the others.
import type { Field, Verbs } from "./types.generated";

export const FORMS = {
  save_view: [{ name: "name", label: "Name", type: "string | null" }],
  paint_file: [{ name: "path", label: "CSV file", hint: "numbers.csv" }],
  insert: [{ name: "op", label: "Op type (one input)" }, { name: "name", label: "Name", hint: "a free one", type: "string | null" }],
  set_attr: [{ name: "value", label: "Value (Python)" }],
  set_device: [{ name: "device", label: "Device", hint: "any" }],
  rename: [{ name: "to", label: "Name" }],
  collapse: [{ name: "name", label: "Name", hint: "a free one", type: "string | null" }],
  unroll: [{ name: "times", label: "Number of rounds", type: "number" }],
  resolve_condition: [{ name: "value", label: "Condition is", hint: "True or False" }],
  on_copies: [{ name: "scope", label: "Scope of the copies", hint: "a free one", type: "string | null" }, { name: "until", label: "Stop at op", hint: "all downstream", type: "string[]" }, { name: "assign", label: "Ops that set state", value: "leave", options: [["leave", "leave them"], ["copy", "copy them too"]] }],
  replace: [{ name: "replacement", label: "Op type", hint: "name or description" }, { name: "external", label: "If other ops read inner tensors", value: "refuse", options: [["refuse", "skip that match"], ["keep", "keep ops others use"]] }],
  insert_copy: [{ name: "to", label: "Scope of the copy", hint: "a free one", type: "string | null" }],
  check: [{ name: "outputs", label: "Outputs", hint: "default: outputs of the opened graph" }, { name: "inputs", label: "Inputs", hint: "default: all placeholders" }, { name: "verify", label: "If it converts", value: "no", options: [["no", "report only"], ["yes", "run the model and compare with the graph"]], type: "boolean" }],
} satisfies Partial<Record<keyof Verbs, Partial<Field>[]>>;
