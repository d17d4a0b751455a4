// The module that anywidget loads.
import { mount } from "./app";
import type { Model } from "./model/api";
import type { State } from "./model/types.generated";

/** The model that anywidget passes, with the widget manager of the notebook. */
interface NotebookModel extends Model {
  readonly widget_manager?: { readonly context?: { readonly model?: { readonly sharedModel?: Cells } } };
}

/** The model of the notebook, in which scenes are JSON texts. */
function received(model: NotebookModel, el: HTMLElement): Model {
  let texts: unknown, scenes: unknown;
  const get = (name: keyof State) => {
    const value = model.get(name);
    if (name !== "scenes") return value;
    if (value !== texts)
      scenes = Object.fromEntries(Object.entries((texts = value) as object).map(([pane, text]) => [pane, JSON.parse(text)]));
    return scenes;
  };
  return { ...model, get, insertCell: inserter(model, el) } as Model;
}

/** The cells of a notebook: the part of JupyterLab's model of a notebook that is used here. */
interface Cells {
  insertCell(index: number, cell: { cell_type: "code"; source: string }): void;
  readonly cells: readonly unknown[];
}

/** Only JupyterLab and Jupyter Notebook give a widget access to the cells of its notebook. */
function inserter(model: NotebookModel, el: HTMLElement): Model["insertCell"] {
  const notebook = model.widget_manager?.context?.model?.sharedModel;
  if (!notebook?.insertCell) return undefined;
  return code => {
    const cell = el.closest<HTMLElement>(".jp-Cell"),
      index = cell?.dataset.windowedListIndex;
    // a view of the output outside the notebook is in no cell
    notebook.insertCell(index === undefined ? notebook.cells.length : Number(index) + 1, { cell_type: "code", source: code.trimEnd() });
    requestAnimationFrame(() => cell?.nextElementSibling?.scrollIntoView({ block: "nearest" }));
  };
}

export default {
  render({ model, el }: { model: NotebookModel; el: HTMLElement }): () => void {
    return mount(received(model, el), el);
  },
};
