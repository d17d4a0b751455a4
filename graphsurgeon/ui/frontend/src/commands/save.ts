// The form for saving the graph as a file, a picture or a page.
import type { Actions } from "./actions";
import type { Report, Verbs } from "../model/types.generated";

/** Opens the form, saves, and shows the report of the save. */
export async function openSaveForm(actions: Actions): Promise<void> {
  const form = await actions.send("save_form", {});
  if (!form) return;
  const { path, formats, inputs, outputs, note } = form,
    { popup, plan } = actions;
  const fields = {
    path,
    format: { value: formats[0]![0], options: formats },
    signature: "serving_default",
    inputs,
    outputs,
  };
  const done = (report: Report, asked: Verbs["save"]) => {
    const replace = async () => done(await actions.call("save", { ...asked, if_exists: "replace" }), asked);
    if (report.existing) popup.form("Save", [], "Replace", replace, "", report.existing);
    else plan.show("saved");
  };
  actions.form("Save", "save", "Save", {}, fields, done, "", note);
}
