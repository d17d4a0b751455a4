// The form for saving the graph as a file, a picture or a page.
import type { Actions } from "./actions";
import type { Verbs } from "../model/types.generated";

export class SaveDialog {
  constructor(private readonly actions: Actions) {}

  /** Opens the form, saves, and shows the report of the save. */
  async open(): Promise<void> {
    const actions = this.actions,
      form = await actions.send("save_form", {});
    if (!form) return;
    const values: [string, string][] = [
      ["current", "current values of the variables"],
      ["initial", "initial values, if a variable has no current value"],
    ];
    actions.ui.popup.form(
      "Save",
      [
        { name: "path", label: "File or folder", value: form.path },
        { name: "format", label: "Format", value: form.formats[0]![0], options: form.formats },
        { name: "signature", label: "Signature", value: "serving_default", hint: "none" },
        { name: "inputs", label: "Inputs", value: form.inputs, hint: "tensors, or name=tensor" },
        { name: "outputs", label: "Outputs", value: form.outputs, hint: "all" },
        { name: "values", label: "Values", value: "current", options: values },
      ],
      "Save",
      v => this.#save(v as unknown as Verbs["save"]),
      "",
      form.note,
    );
  }

  async #save(asked: Verbs["save"]): Promise<void> {
    const wrote = await this.actions.call("save", asked);
    if (wrote.existing)
      this.actions.ui.popup.form("Save", [], "Replace", () => this.#save({ ...asked, if_exists: "replace" }), "", wrote.existing);
    else this.actions.ui.plan.show("saved");
  }
}
