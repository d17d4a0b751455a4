// The module that anywidget loads.
import { mount } from "./app";
import type { Model } from "./model/types";

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    return mount(model, el);
  },
};
