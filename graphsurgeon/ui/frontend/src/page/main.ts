// The code of a saved page: it unpacks the graph, and shows the screen.
import { mount } from "../app";
import { pageModel } from "./kernel";
import { type PackedData, type PageData, unpack } from "./data";

async function read(): Promise<PageData> {
  const bytes = Uint8Array.from(atob(document.getElementById("gs-graph")!.textContent!.trim()), c => c.charCodeAt(0)),
    stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return unpack((await new Response(stream).json()) as PackedData);
}

async function show(): Promise<void> {
  const host = document.getElementById("gs-host")!;
  try {
    const model = pageModel(await read());
    host.replaceChildren();
    mount(model, host);
    Object.assign(window, { graphsurgeon: model });
  } catch (error) {
    // the static picture stays
    const said = document.getElementById("gs-said");
    if (said) said.textContent = `This browser only shows the static picture: ${error instanceof Error ? error.message : error}`;
  }
}

void show();
