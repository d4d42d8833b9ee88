// What the documents name is there: scripts, files, links, headings. The README is the door: short, with every page in
// reach.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { VERBS } from "../../cli/verbs.ts";
import { PICTURE_MAX_BYTES, SHOWN, THEMES } from "../../scripts/pictures/shown.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const README_LINES = 150;
const FOLDERS = "domain|contract|durable-objects|src|worker|migrations|test|providers|dashboard|scripts|cli|sdk|bench";

const below = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
    path.posix.join(folder, name.replaceAll(path.sep, "/")),
  );
const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith(".md")),
  "providers/README.md",
  ...below("docs").filter((name) => name.endsWith(".md")),
];
const textOf = new Map(PAGES.map((page) => [page, readFileSync(path.join(ROOT, page), "utf8")]));

/** What a form finds in a page, each once. */
const foundIn = (page: string, form: RegExp): string[] => [
  ...new Set([...(textOf.get(page) ?? "").matchAll(form)].map(([, name = ""]) => name)),
];
/** What a form finds in all pages, with its page. */
const foundInAll = (form: RegExp): { page: string; name: string }[] =>
  PAGES.flatMap((page) => foundIn(page, form).map((name) => ({ page, name })));

/** As GitHub names a heading's place. */
const placeOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, "")
    .replaceAll(" ", "-");
const placesOf = (page: string): string[] => foundIn(page, /^#+ (.+)$/gm).map(placeOf);

describe("every page", () => {
  it("names only scripts of package.json", () => {
    const { scripts } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as { scripts: object };
    const named = foundInAll(/npm run ([a-z]+)/g);
    expect(new Set(named.map(({ name }) => name)).size).toBeGreaterThan(8);
    expect(named.filter(({ name }) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it("names only files and folders that exist", () => {
    const named = foundInAll(new RegExp(`\`((?:${FOLDERS})/[\\w./-]*)`, "g"));
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter(({ name }) => !existsSync(path.join(ROOT, name)))).toEqual([]);
  });

  it("that says how to stop all work says how to start it again, with the workers that were paused", () => {
    const stopping = PAGES.filter((page) => textOf.get(page)?.includes("killswitch on"));
    expect(stopping.length).toBeGreaterThan(1);
    expect(stopping.filter((page) => !textOf.get(page)?.includes("killswitch off --resume-all"))).toEqual([]);
  });

  it("links only to files and headings that exist", () => {
    const links = foundInAll(/(?:\]\(|src="|srcset=")(?!https?:)([^)"\s]+)[)"]/g);
    expect(links.length).toBeGreaterThan(40);
    const broken = links.filter(({ page, name }) => {
      const [file = "", place] = name.split("#");
      const target = file === "" ? page : path.posix.join(path.posix.dirname(page), file);
      if (!existsSync(path.join(ROOT, target))) return true;
      return place !== undefined && !placesOf(target).includes(place);
    });
    expect(broken).toEqual([]);
  });

  it("can be reached from the README", () => {
    const reached = new Set<string>();
    const visit = (page: string): void => {
      if (reached.has(page)) return;
      reached.add(page);
      for (const name of foundIn(page, /\]\((?!https?:)([^)#\s]+\.md)/g))
        visit(path.posix.join(path.posix.dirname(page), name));
    };
    visit("README.md");
    expect(PAGES.filter((page) => !reached.has(page))).toEqual([]);
  });

  it("names only commands of the command line", () => {
    const known = new Set(VERBS.flatMap(({ name }) => [name, name.split(" ")[0]]));
    const named = foundInAll(/(?:^|`|npx \S*\/)signalbox(?:\.tgz)? ([a-z][a-z-]*)/gm);
    expect(named.length).toBeGreaterThan(6);
    expect(named.filter(({ name }) => !known.has(name))).toEqual([]);
  });
});

it(`the README has at most ${README_LINES} lines`, () => {
  expect(textOf.get("README.md")?.trimEnd().split("\n").length).toBeLessThanOrEqual(README_LINES);
});

describe("the pictures", () => {
  const files = SHOWN.flatMap(({ name }) => THEMES.map((theme) => `${name}-${theme}.png`));

  it("are those of the pages in the table, in both themes, small enough to load", () => {
    expect(readdirSync(path.join(ROOT, "docs/pictures")).sort()).toEqual([...files].sort());
    const large = files.filter((file) => statSync(path.join(ROOT, "docs/pictures", file)).size > PICTURE_MAX_BYTES);
    expect(large).toEqual([]);
  });

  it("show pages that the dashboard still has", () => {
    const pages = readFileSync(path.join(ROOT, "dashboard/shell/page-at.tsx"), "utf8");
    const named = SHOWN.map(({ place }) => place.split("?")[0] ?? "");
    const gone = named.filter((page) => !pages.includes(`  "${page}": `) && !pages.includes(`  ${page}: `));
    expect(gone).toEqual([]);
  });

  it("are all shown in a document", () => {
    const documents = [...textOf.values()].join("\n");
    expect(files.filter((file) => !documents.includes(file))).toEqual([]);
  });
});
