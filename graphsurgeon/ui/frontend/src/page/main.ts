// The code of a saved page: it unpacks the graph and the layout engine, and shows the screen. In a worker, it only runs the engine.
import { mount } from "../app";
import { Engine, serve } from "./engine";
import { type PageData, PageModel } from "./kernel";

async function unpacked(id: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const text = document.getElementById(id)?.textContent?.trim();
  if (!text) return null;
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

async function engine(): Promise<Engine | null> {
  try {
    const bytes = await unpacked("gs-graphviz");
    return bytes && new Engine(await WebAssembly.compile(bytes), document.getElementById("gs-code")!.textContent!);
  } catch {
    return null;
  }
}

async function show(): Promise<void> {
  const host = document.getElementById("gs-host")!;
  try {
    const bytes = await unpacked("gs-graph");
    const data = JSON.parse(new TextDecoder().decode(bytes!)) as PageData;
    const model = new PageModel(data, await engine());
    host.replaceChildren();
    mount(model, host);
    Object.assign(window, { graphsurgeon: model });
  } catch (error) {
    // the static picture stays
    const said = document.getElementById("gs-said");
    if (said) said.textContent = `This browser only shows the static picture: ${error instanceof Error ? error.message : error}`;
  }
}

if (typeof document === "undefined") serve(self as unknown as Parameters<typeof serve>[0]);
else void show();
