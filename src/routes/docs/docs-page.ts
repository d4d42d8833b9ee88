// The API as pages, made from the OpenAPI document, without scripts or external resources: an index by tag, with the
// headers, the problems and a search, and a page for each tag with the schemas that it names. An old address with an
// anchor of a problem or an operation still leads to it.

import { WIRE } from "../../../contract/refusal.ts";
import type { JsonSchema } from "../../endpoint/json-schema.ts";
import type { OpenApiDocument, Operation } from "../../endpoint/openapi.ts";
import { escapeHtml } from "../../http/escape-html.ts";
import { INTERNAL } from "../../http/refused.ts";
import { code, definitions, HEADERS, idOf, operationHtml, SOCKET_PAGES, schemaHtml } from "./docs-parts.ts";
import { type Entry, found, MAX_QUERY_CHARS } from "./docs-search.ts";
import { prose } from "./schema-html.ts";

export interface DocsPages {
  /** With the hits of a search, or the whole index if nothing is searched for. */
  readonly index: (query: string) => string;
  /** Null if there is no such page. */
  readonly page: (name: string) => string | null;
  readonly names: readonly string[];
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly one: Operation;
}

interface Page {
  readonly name: string;
  readonly title: string;
  readonly html: string;
  readonly operations: readonly Listed[];
}

const problems = Object.entries({ ...WIRE, [INTERNAL.code]: INTERNAL }).map(
  ([refusal, { status, title }]) => [`problem-${refusal}`, refusal, `${status} ${title}`] as const,
);

const frame = (title: string, query: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><link rel="stylesheet" href="/docs.css"></head><body><main>
<form action="/docs" role="search"><a href="/docs">Signalbox API</a> <label>Search <input type="search" name="q"
maxlength="${MAX_QUERY_CHARS}" value="${escapeHtml(query)}"></label> <button>Search</button></form>
${body}</main></body></html>`;

/** The schemas that a page's text names, and those that they name. */
const schemasOf = (html: string, document: OpenApiDocument): readonly (readonly [string, JsonSchema])[] => {
  const named = new Map<string, JsonSchema>();
  const look = (text: string): void => {
    for (const [, name = ""] of text.matchAll(/href="#schema-([^"]+)"/g)) {
      const schema = document.components.schemas[name];
      if (schema === undefined || named.has(name) || html.includes(`id="schema-${name}"`)) continue;
      named.set(name, schema);
      look(schemaHtml([name, schema]));
    }
  };
  look(html);
  return [...named];
};

const pagesOf = (document: OpenApiDocument): Page[] => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]): Listed => ({ method, path, one })),
  );
  const byTag = Map.groupBy(operations, ({ one }) => one.tags[0] ?? "");
  const tags = [...byTag].map(([tag, list]) => ({
    name: idOf(tag).toLowerCase(),
    title: tag,
    html: `<h1>${escapeHtml(tag)}</h1>${list
      .map(({ method, path, one }) => operationHtml(document, method, path, one))
      .join("\n")}`,
    operations: list,
  }));
  const sockets = SOCKET_PAGES.map(({ id, title, html }) => ({
    name: id,
    title,
    html: html(document),
    operations: [],
  }));
  return withOthers([...tags, ...sockets], document);
};

/** A page more for the schemas that no other page names. */
const withOthers = (pages: readonly Page[], document: OpenApiDocument): Page[] => {
  const text = pages.map(({ html }) => html).join("");
  const shown = new Set(schemasOf(text, document).map(([name]) => name));
  const others = Object.entries(document.components.schemas).filter(
    ([name]) => !shown.has(name) && !text.includes(`id="schema-${name}"`),
  );
  if (others.length === 0) return [...pages];
  const html = `<h1>Other schemas</h1>${others.map(schemaHtml).join("\n")}`;
  return [...pages, { name: "schemas", title: "Other schemas", html, operations: [] }];
};

const withSchemas = (html: string, document: OpenApiDocument): string => {
  const schemas = schemasOf(html, document);
  if (schemas.length === 0) return html;
  return `${html}\n<section id="schemas"><h2>Schemas</h2>${schemas.map(schemaHtml).join("\n")}</section>`;
};

const listedHtml = (page: Page, { method, path, one }: Listed): string =>
  `<li id="${one.operationId}"><a href="/docs/${page.name}#${one.operationId}">${code(`${method.toUpperCase()} ${path}`)}</a>
${prose(one.summary)}</li>`;

const indexHtml = (pages: readonly Page[], version: string): string => {
  const lists = pages.map((page) => {
    const listed = page.operations.map((one) => listedHtml(page, one)).join("");
    const list = listed === "" ? "" : `<ul>${listed}</ul>`;
    return `<section><h2><a href="/docs/${page.name}">${escapeHtml(page.title)}</a></h2>${list}</section>`;
  });
  return `<h1>Signalbox API</h1><p>Version ${version}. Bodies are JSON; every error is a problem document (RFC 9457), and under
<code>/v1</code> an error of the API that is spoken there. The machine-readable twin of these pages is
<a href="/openapi.json">openapi.json</a>.</p>${lists.join("\n")}
<section id="headers"><h2>Headers</h2>${definitions(Object.entries(HEADERS).map(([name, says]) => [`header-${name}`, name, says]))}</section>
<section id="problems"><h2>Problems</h2>${definitions(problems)}</section>`;
};

/** The schemas that a page shows, in its text or below it. */
const shownOn = ({ html }: Page, document: OpenApiDocument): readonly (readonly [string, JsonSchema])[] => {
  const own = Object.entries(document.components.schemas).filter(([name]) => html.includes(`id="schema-${name}"`));
  return [...own, ...schemasOf(html, document)];
};

const entriesOf = (pages: readonly Page[], document: OpenApiDocument): Entry[] => {
  const operations = pages.flatMap((page) =>
    page.operations.map(({ method, path, one }) => ({
      href: `/docs/${page.name}#${one.operationId}`,
      title: `${method.toUpperCase()} ${path}`,
      says: one.summary,
      text: `${one.operationId} ${page.title} ${one.description} ${one.parameters.map(({ name }) => name).join(" ")}`,
    })),
  );
  const schemas = new Map<string, Entry>();
  for (const page of pages)
    for (const [name, { description = "", properties = {} }] of shownOn(page, document)) {
      const text = `${description} ${Object.keys(properties).join(" ")}`;
      const says = `schema of ${page.title}`;
      if (!schemas.has(name)) schemas.set(name, { href: `/docs/${page.name}#schema-${name}`, title: name, says, text });
    }
  const sockets = pages
    .filter(({ name }) => SOCKET_PAGES.some(({ id }) => id === name))
    .map(({ name, title, html }) => ({ href: `/docs/${name}`, title, says: "WebSocket", text: html }));
  const refusals = problems.map(([id, title, says]) => ({ href: `/docs#${id}`, title, says, text: "problem error" }));
  return [...operations, ...sockets, ...refusals, ...schemas.values()];
};

const hitsHtml = (query: string, entries: readonly Entry[]): string => {
  const { hits, total } = found(entries, query);
  const said = `<h1>Search</h1><p>${total === 0 ? "Nothing" : total} found for <q>${escapeHtml(query)}</q>${
    hits.length < total ? `, the first ${hits.length} shown` : ""
  }. <a href="/docs">All of the API</a></p>`;
  const list = hits.map(({ href, title, says }) => `<li><a href="${href}">${code(title)}</a> ${prose(says)}</li>`);
  return `${said}<ul>${list.join("")}</ul>`;
};

export const docsPages = (document: OpenApiDocument, version: string): DocsPages => {
  const pages = pagesOf(document);
  const entries = entriesOf(pages, document);
  const index = frame("Signalbox API", "", indexHtml(pages, version));
  const rendered = new Map<string, string>();
  return {
    names: pages.map(({ name }) => name),
    index: (query) => (query === "" ? index : frame(`${query} - Signalbox API`, query, hitsHtml(query, entries))),
    page: (name) => {
      const page = pages.find((one) => one.name === name);
      if (page === undefined) return null;
      const html = rendered.get(name) ?? frame(`${page.title} - Signalbox API`, "", withSchemas(page.html, document));
      rendered.set(name, html);
      return html;
    },
  };
};
