import { expect, test, vi } from "vitest";
import refusals from "../../../../tests/widget/protocol_examples.json";
import { Api, NO_KERNEL_TEXT, CommandError } from "../src/model/api";
import { EXAMPLES } from "./examples";
import { FakeModel } from "./fake";

test.each(EXAMPLES)("$verb is sent as the protocol has it", example => {
  const model = new FakeModel(),
    api = new Api(model);
  void api.call(example.verb, example.args);
  expect(model.sent[0]).toEqual({ v: 1, id: expect.any(Number), verb: example.verb, args: example.args });
  expect(Number.isSafeInteger(model.sent[0].id)).toBe(true);
});

test("what nobody waits for is sent, and its answer concerns nobody", () => {
  const model = new FakeModel(),
    changed = vi.fn(),
    api = new Api(model, changed);
  api.tell("infer", {});
  expect(model.verbs).toEqual([["infer", {}]]);
  expect(api.pending()).toBe(0);
  model.answer("infer");
  expect(changed).not.toHaveBeenCalled();
});

test("an answer settles its own request", async () => {
  const model = new FakeModel(),
    changed = vi.fn(),
    api = new Api(model, changed);
  const first = api.call("undo", {}),
    second = api.call("find", { pane: "source", query: "x" });
  expect(api.pending()).toBe(2);
  expect(api.pending("find")).toBe(1);
  model.answer("find", { hits: [], total: 0 });
  expect(await second).toEqual({ hits: [], total: 0 });
  model.answer("undo");
  expect(await first).toBe(undefined);
  expect(changed).toHaveBeenCalledTimes(4);
});

test.each(refusals.invalid.slice(0, 3))("a refusal has three parts", async ({ error }) => {
  const model = new FakeModel(),
    api = new Api(model),
    asked = api.call("undo", {});
  model.emit("msg:custom", { v: 1, id: model.sent[0].id, ok: false, error });
  const refused: unknown = await asked.catch((e: unknown) => e);
  if (!(refused instanceof CommandError)) throw new Error("it was not refused");
  expect(refused.parts).toEqual(error);
  expect(refused.message).toContain(`${error.request}: ${error.problem}`);
});

test("answers to others, of other versions, and rubbish are ignored", () => {
  const model = new FakeModel(),
    api = new Api(model);
  void api.call("undo", {});
  for (const message of [null, {}, { v: 2, id: model.sent[0].id, ok: true }, { v: 1, id: 1, ok: true }]) model.emit("msg:custom", message);
  expect(api.pending()).toBe(1);
  api.close();
  expect(model.heard.get("msg:custom")!.size).toBe(0);
});

test("two views of a model do not use the same numbers", () => {
  const model = new FakeModel();
  void new Api(model).call("undo", {});
  void new Api(model).call("undo", {});
  expect(model.sent[0].id).not.toBe(model.sent[1].id);
});

test("a connection that refuses a message is one to a kernel that was shut down", async () => {
  const model = new FakeModel(),
    lost = vi.fn(),
    api = new Api(model, () => {}, lost);
  model.send = () => {
    throw new Error("Cannot send");
  };
  await expect(api.call("undo", {})).rejects.toThrow("the kernel of this graph has stopped");
  api.tell("infer", {});
  expect([lost.mock.calls.length, api.kernelStopped, api.pending()]).toEqual([1, true, 0]);
});

test("when the kernel is gone, who waits is informed, and so is who asks later", async () => {
  const model = new FakeModel(),
    lost = vi.fn(),
    api = new Api(model, () => {}, lost);
  const asked = api.call("undo", {}).then(
    () => "",
    e => e.message,
  );
  model.emit("comm_live_update");
  expect(await asked).toBe("undo: the kernel of this graph has stopped, so the picture no longer changes. Rerun the cell.");
  expect([lost.mock.calls.length, api.kernelStopped, api.answers("select")]).toEqual([1, true, false]);
  expect(NO_KERNEL_TEXT).toBe("The kernel of this graph has stopped, so the picture no longer changes. Rerun the cell.");
  expect(
    await api.call("redo", {}).then(
      () => "",
      e => e.parts.request,
    ),
  ).toBe("redo");
  expect(api.pending()).toBe(0);
  expect(model.sent.length).toBe(1);
});
