// Graphviz in the page: the same WebAssembly module as in the kernel, in a worker that can be ended.

type Reply = { id: number; text?: string; error?: string };

/** The imports of the module: no files, no streams, no environment. */
function surroundings(memory: () => WebAssembly.Memory): WebAssembly.ModuleImports {
  const view = () => new DataView(memory().buffer),
    BAD = 8,
    NONE = 0;
  const zero = (at: number, bytes: number) => {
    new Uint8Array(memory().buffer, at, bytes).fill(0);
    return NONE;
  };
  const none = ["environ_get", "fd_close", "fd_fdstat_set_flags"],
    bad = ["fd_filestat_get", "fd_prestat_get", "fd_prestat_dir_name", "fd_seek", "path_filestat_get", "path_open"];
  return {
    ...Object.fromEntries(none.map(name => [name, () => NONE])),
    ...Object.fromEntries(bad.map(name => [name, () => BAD])),
    environ_sizes_get: (n: number, size: number) => {
      zero(n, 4);
      return zero(size, 4);
    },
    clock_time_get: (_id: number, _precision: bigint, at: number) => zero(at, 8),
    fd_fdstat_get: (_fd: number, at: number) => zero(at, 24),
    fd_read: (_fd: number, _vectors: number, _n: number, at: number) => zero(at, 4),
    fd_write: (_fd: number, vectors: number, n: number, at: number) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += view().getUint32(vectors + 8 * i + 4, true);
      view().setUint32(at, sum, true);
      return NONE;
    },
    proc_exit: (code: number) => {
      throw new Error(`Graphviz ended with code ${code}`);
    },
    random_get: (at: number, n: number) => zero(at, n),
  };
}

/** Lays out DOT text synchronously; each call has its own memory. */
export function render(module: WebAssembly.Module, dot: string): string {
  let memory: WebAssembly.Memory | null = null;
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: surroundings(() => memory!) });
  const e = instance.exports as Record<string, any>;
  memory = e["memory"] as WebAssembly.Memory;
  const put = (text: string): number => {
    const data = new TextEncoder().encode(text + "\0"),
      at = Number(e["malloc"](data.length));
    new Uint8Array(memory!.buffer, at, data.length).set(data);
    return at;
  };
  const size = Number(e["malloc"](4)),
    found = Number(e["graphviz_render"](put(dot), put("json0"), put("dot"), size));
  if (!found) throw new Error("Graphviz refused the picture");
  const long = new DataView(memory.buffer).getUint32(size, true);
  return new TextDecoder().decode(new Uint8Array(memory.buffer.slice(found, found + long)));
}

/** The code of the worker: layouts, one after another. */
export function serve(scope: { onmessage: ((e: MessageEvent) => void) | null; postMessage(message: Reply): void }): void {
  let module: WebAssembly.Module;
  scope.onmessage = e => {
    if (e.data.module) {
      module = e.data.module;
      return;
    }
    const { id, dot } = e.data as { id: number; dot: string };
    try {
      scope.postMessage({ id, text: render(module, dot) });
    } catch (error) {
      scope.postMessage({ id, error: String(error) });
    }
  };
}

/** The error of a layout that exceeded the time limit or was cancelled. */
export class Stopped extends Error {
  constructor(
    message: string,
    /** Whether the time limit was exceeded. */
    readonly late: boolean,
  ) {
    super(message);
  }
}

export class Engine {
  #worker: Worker | null = null;
  #next = 1;
  #running: { done(text: string): void; failed(error: Error): void; timer: number } | null = null;

  /** `source` is the code of the page, which is also the code of the worker. */
  constructor(
    private readonly module: WebAssembly.Module,
    private readonly source: string,
  ) {}

  /** Lays out DOT text within `limit` ms; a newer call stops an older one. */
  run(dot: string, limit: number): Promise<string> {
    this.stop("a newer picture was requested");
    const worker = this.started();
    if (!worker) return new Promise(done => done(render(this.module, dot)));
    const id = this.#next++;
    return new Promise((done, failed) => {
      const timer = window.setTimeout(() => this.stop(`the layout did not end within ${(limit / 1000).toFixed(1)} s`, true), limit);
      this.#running = { done, failed, timer };
      worker.onmessage = (e: MessageEvent<Reply>) => {
        if (e.data.id !== id) return;
        clearTimeout(timer);
        this.#running = null;
        if (e.data.text !== undefined) done(e.data.text);
        else failed(new Error(e.data.error));
      };
      worker.onerror = e => {
        this.#running = null;
        clearTimeout(timer);
        failed(new Error(e.message || "the layout failed"));
      };
      worker.postMessage({ id, dot });
    });
  }

  /** Ends the running layout. */
  stop(why: string, late = false): void {
    if (!this.#running) return;
    const { failed, timer } = this.#running;
    clearTimeout(timer);
    this.#running = null;
    this.#worker?.terminate();
    this.#worker = null;
    failed(new Stopped(why, late));
  }

  started(): Worker | null {
    if (this.#worker) return this.#worker;
    try {
      const url = URL.createObjectURL(new Blob([this.source], { type: "text/javascript" }));
      this.#worker = new Worker(url);
      URL.revokeObjectURL(url);
      this.#worker.postMessage({ module: this.module });
    } catch {
      // a page without permission for workers still draws, but is blocked meanwhile
      this.#worker = null;
    }
    return this.#worker;
  }
}
