// The fields of the forms of commands, written from their signatures in graphsurgeon/ui/commands by
// tools/write_verbs.py. A type is that of an argument that is not a text.
import type { FormField } from "../panels/popup";
import type { Verbs } from "./types.generated";

export const FORMS = {
  save_view: [{ name: "name", label: "Name", type: "string | null" }],
  paint_file: [{ name: "path", label: "CSV file", hint: "numbers.csv" }],
  run: [{ name: "seed", label: "Random seed", value: "0", type: "number" }, { name: "limit", label: "Time limit, in seconds", hint: "none", type: "number" }, { name: "memory", label: "Memory limit, in MB", hint: "none", type: "number" }],
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
  save: [{ name: "path", label: "File or folder" }, { name: "format", label: "Format", value: "saved_model", options: [["keras", "Keras model"], ["saved_model_tf2", "SavedModel, of a tf.Module"], ["saved_model", "SavedModel, in the form of TF1"], ["frozen", "frozen GraphDef: variables become constants"], ["graph_def", "GraphDef, without values"], ["meta_graph", "MetaGraph, with its checkpoint"], ["checkpoint", "checkpoint: values only"], ["tflite", "TFLite model: variables become constants"], ["picture", "SVG picture"], ["page", "HTML page, works without a kernel"]] }, { name: "signature", label: "Signature", hint: "none" }, { name: "inputs", label: "Inputs", hint: "tensors, or name=tensor" }, { name: "outputs", label: "Outputs", hint: "all" }, { name: "values", label: "Values", value: "current", options: [["current", "current values of the variables"], ["initial", "initial values, if a variable has no current value"]] }],
  check: [{ name: "outputs", label: "Outputs", hint: "default: outputs of the opened graph" }, { name: "inputs", label: "Inputs", hint: "default: all placeholders" }, { name: "verify", label: "If it converts", value: "no", options: [["no", "report only"], ["yes", "run the model and compare with the graph"]], type: "boolean" }],
} satisfies Partial<Record<keyof Verbs, FormField[]>>;
