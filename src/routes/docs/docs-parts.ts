// The parts of the API's pages, made from the OpenAPI document: they show the schemas that validate.

import { AHEAD_CHARS, MAX_DATA_FRAME_BYTES, MAX_PART_BYTES } from "../../../contract/data-line.ts";
import type { JsonSchema } from "../../endpoint/json-schema.ts";
import type { OpenApiDocument, Operation, Parameter, ResponseObject } from "../../endpoint/openapi.ts";
import { escapeHtml } from "../../http/escape-html.ts";
import { exampleOf } from "./schema-example.ts";
import { fieldRows, prose, typeHtml } from "./schema-html.ts";

export const HEADERS: Readonly<Record<string, string>> = {
  Authorization: "`Bearer <key>`. Anthropic's clients send the key as `x-api-key`; browsers use a session cookie.",
  "Idempotency-Key": "The same key with the same body gets the same answer for 24 hours; with another body it is 422.",
  "Idempotency-Replayed": "In answers: `true` if it is the first answer, repeated.",
  "X-Request-Id": "Repeated in the answer, the log and problem documents; created if it is missing.",
  traceparent: "W3C trace context, stored with the job.",
  "Retry-After": "In answers: seconds to wait before the next try (429, 503).",
  ETag: "In answers of `/config`: names the version that was read.",
  "If-Match": "With `PUT /config`: the ETag that was read. If the config has changed since, the answer is 412.",
  "If-None-Match":
    "With `GET /config`: the ETag that is known. If it is still current, the answer is 304 without a body.",
};

/** Messages of the sockets, by the path that opens them. */
const SOCKETS = [
  ["worker-socket", "/api/workers/{instance}/connect", "A worker's WebSocket", ["WorkerMessage", "CoordinatorMessage"]],
  ["live-socket", "/live", "The dashboard's live view", ["LiveMessage"]],
] as const;

const SAYS: Readonly<Record<string, string>> = {
  WorkerMessage:
    "Messages from the worker. Each has an `id`, which its `ack` repeats; the text `ping` is answered with `pong`.",
  CoordinatorMessage: "Messages from the coordinator. `welcome` comes first; `ack` answers each message of the worker.",
  LiveMessage:
    "Messages from the coordinator. `snapshot` comes first. Each message has a `seq`; after a gap, connect again.",
};

const DATA_LINE = { id: "data-line", title: "A worker's data line" } as const;

export const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;
export const idOf = (text: string): string => text.replaceAll(/[^A-Za-z0-9]+/g, "-");

const exampleHtml = (title: string, value: unknown): string =>
  value === undefined
    ? ""
    : `<details><summary>${title}</summary><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre></details>`;

const table = (rows: string): string =>
  rows === ""
    ? ""
    : `<table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;

const parameterRows = (parameters: readonly Parameter[]): string =>
  table(
    parameters
      .map(({ name, in: place, required, schema, description }) =>
        fieldRows(`${name}`, { ...schema, ...(description === undefined ? {} : { description }) }, required, place),
      )
      .join(""),
  );

const schemaOf = (content: ResponseObject["content"]): [string, JsonSchema] | undefined =>
  Object.entries(content ?? {}).map(([, { schema }]): [string, JsonSchema] => [
    Object.keys(content ?? {}).join(", "),
    schema,
  ])[0];

const fieldTable = (schema: JsonSchema): string =>
  table(
    Object.entries(schema.properties ?? {})
      .map(([name, one]) => fieldRows(name, one, schema.required?.includes(name) === true))
      .join(""),
  );

/** The codes of a problem, each a link to what it means. */
const codesHtml = ({ allOf = [] }: JsonSchema): string => {
  const codes = allOf.flatMap(({ properties }) => properties?.code?.enum ?? []).map(String);
  const links = codes.map((one) => `<a href="/docs#problem-${one}">${code(one)}</a>`);
  return links.length === 0 ? "" : `<br>${links.join(" ")}`;
};

const answerHtml = (document: OpenApiDocument, status: string, response: ResponseObject): string => {
  const found = schemaOf(response.content);
  const shape = found === undefined ? "" : ` ${typeHtml(found[1])} <span class="media">${escapeHtml(found[0])}</span>`;
  const isProblem = Number(status) >= 400;
  const example = found === undefined || isProblem ? undefined : exampleOf(found[1], document.components.schemas);
  const inline = found === undefined || isProblem ? "" : fieldTable(found[1]);
  const codes = found === undefined ? "" : codesHtml(found[1]);
  return `<li><b>${status}</b> ${prose(response.description)}${shape}${codes}${inline}${exampleHtml("Example", example)}</li>`;
};

export const operationHtml = (document: OpenApiDocument, method: string, path: string, one: Operation): string => {
  const body = schemaOf(one.requestBody?.content);
  const named = body === undefined ? "" : `<p>Body: ${typeHtml(body[1])} <span class="media">${body[0]}</span></p>`;
  const example = body === undefined ? undefined : exampleOf(body[1], document.components.schemas);
  return `<article id="${one.operationId}"><h3>${code(`${method.toUpperCase()} ${path}`)}</h3>
<p>${prose(one.summary)}. ${prose(one.description)}</p>${parameterRows(one.parameters)}
${named}${body === undefined ? "" : fieldTable(body[1])}${exampleHtml("Example body", example)}
<ul class="answers">${Object.entries(one.responses)
    .map(([status, response]) => answerHtml(document, status, response))
    .join("")}</ul></article>`;
};

const messageHtml = (schema: JsonSchema): string => {
  const type = String(schema.properties?.type?.const ?? "");
  return `<h4>${code(type)}</h4>${fieldTable(schema)}`;
};

const socketHtml = (document: OpenApiDocument, [id, path, title, unions]: (typeof SOCKETS)[number]): string => {
  const messages = unions.map((name) => {
    const { oneOf = [], anyOf = [] } = document.components.schemas[name] ?? {};
    const members = [...oneOf, ...anyOf];
    return `<h3 id="schema-${name}">${name}</h3><p>${prose(SAYS[name] ?? "")}</p>${members.map(messageHtml).join("")}`;
  });
  return `<section id="${id}"><h2>${title}</h2><p>${code(`GET ${path}`)} with <code>Upgrade: websocket</code>.
A frame is text: one JSON message, or an array of messages.</p>${messages.join("")}</section>`;
};

/** Its frames are no JSON: `contract/data-line.ts` writes and reads them. */
const dataLineHtml = (document: OpenApiDocument): string => `<section id="${DATA_LINE.id}"><h2>${DATA_LINE.title}</h2>
<p>${code("GET /api/workers/{instance}/stream")} with <code>Upgrade: websocket</code>, beside the worker's WebSocket: for
what streamed jobs write. A frame is text: parts divided by U+001E. A part begins with the line
${code("<job id> <lease>")}; whole server-sent events follow, as the client shall receive them. A part that begins with
${code("<job id> <lease> end")} ends the stream; nothing follows, or the error as JSON:
${code('{"code": "…", "message": "…", "status": 500}')}. A part is at most
${MAX_PART_BYTES} bytes, a frame ${MAX_DATA_FRAME_BYTES}; an event that is longer goes on in the stream's next part. The coordinator sends two messages:</p>
<h3 id="schema-ReaderGone">ReaderGone</h3><p>Nobody reads this stream any more.</p>
${messageHtml(document.components.schemas.ReaderGone ?? {})}
<h3 id="schema-ReaderTook">ReaderTook</h3><p>So many characters (UTF-16) of this stream are taken. A worker that never says over
${AHEAD_CHARS} more makes no reader slow.</p>
${messageHtml(document.components.schemas.ReaderTook ?? {})}</section>`;

/** The pages about what is no request. */
export const SOCKET_PAGES: readonly {
  readonly id: string;
  readonly title: string;
  readonly html: (document: OpenApiDocument) => string;
}[] = [
  ...SOCKETS.map((socket) => ({
    id: socket[0],
    title: socket[2],
    html: (document: OpenApiDocument) => socketHtml(document, socket),
  })),
  { ...DATA_LINE, html: dataLineHtml },
];

export const schemaHtml = ([name, schema]: readonly [string, JsonSchema]): string =>
  `<article id="schema-${name}"><h3>${code(name)}</h3><p>${prose(schema.description ?? "")}</p>${
    schema.properties === undefined ? `<p>${typeHtml(schema)}</p>` : fieldTable(schema)
  }</article>`;

export const definitions = (entries: readonly (readonly [string, string, string])[]): string =>
  `<dl>${entries.map(([id, term, says]) => `<dt id="${id}">${code(term)}</dt><dd>${prose(says)}</dd>`).join("")}</dl>`;
