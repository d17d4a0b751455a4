// Names of CSS classes: a class that TypeScript switches on and off has one meaning, and is not the class of a part.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SWITCHED = /(?:classList\.(?:toggle|add|remove)|#toggle)\(([^,)]*)/g;
/** A class name in a string; after a dot it is part of a selector. */
const NAME = /(?<![.\w-])gs-[a-z]+(?:-[a-z]+)*(?![\w-])/g;
/** The classes of a part in the selector of its description. */
const SELECTOR = /\b(?:h|make)\(\s*["`]\w+((?:\.gs-[a-z]+(?:-[a-z]+)*(?![\w-]))+)/g;
/** States that mean the same in two lists: the entry that Enter takes, and what is selected. */
const SHARED = new Set(["gs-on", "gs-selected"]);

test("a state class has one owner and is not the class of a part", () => {
  const owners = new Map<string, Set<string>>(),
    parts = new Map<string, string>();
  for (const file of readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    name => name.endsWith(".ts") && !name.startsWith("page"),
  )) {
    const text = readFileSync(`src/${file}`, "utf8");
    for (const [, given] of text.matchAll(SWITCHED))
      for (const [name] of given!.matchAll(NAME)) owners.set(name, (owners.get(name) ?? new Set()).add(file));
    const rest = text.replace(SWITCHED, "").replace(/\/\/[^\n]*|\/\*[^]*?\*\//g, "");
    for (const [name] of rest.matchAll(NAME)) parts.set(name, file);
    for (const [, names] of rest.matchAll(SELECTOR)) for (const name of names!.slice(1).split(".")) parts.set(name, file);
  }
  expect(owners.size).toBeGreaterThan(30);
  expect(parts.size).toBeGreaterThan(100);
  expect([...owners.keys()].filter(name => parts.has(name) && !SHARED.has(name)).map(name => `${name} (${parts.get(name)})`)).toEqual([]);
  expect([...owners].filter(([name, files]) => files.size > 1 && !SHARED.has(name)).map(([name]) => name)).toEqual([]);
});
