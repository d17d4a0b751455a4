// The module that anywidget loads.
import { mount } from "./app";
import type { Model } from "./model/api";
import type { State } from "./model/types.generated";

/** The model of the notebook, in which scenes are JSON texts. */
function received(model: Model): Model {
  let texts: unknown, scenes: unknown;
  const get = (name: keyof State) => {
    const value = model.get(name);
    if (name !== "scenes") return value;
    if (value !== texts)
      scenes = Object.fromEntries(Object.entries((texts = value) as object).map(([pane, text]) => [pane, JSON.parse(text)]));
    return scenes;
  };
  return { ...model, get } as Model;
}

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    return mount(received(model), el);
  },
};
