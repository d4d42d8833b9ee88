// The example of a body, as the API's pages show it, is a body that the endpoint takes.

import { expect, it } from "vitest";
import { DEFAULT_CONFIG_DOCUMENT } from "../../contract/config/config.ts";
import { endpoints } from "../../src/app.ts";
import { openApiDocument } from "../../src/endpoint/openapi.ts";
import { exampleOf } from "../../src/routes/docs/schema-example.ts";

const document = openApiDocument(endpoints, "0");

const examples = endpoints.flatMap(({ description: { method, path, body } }) => {
  const sent = document.paths[path]?.[method.toLowerCase()]?.requestBody?.content["application/json"]?.schema;
  return body === undefined || sent === undefined
    ? []
    : [{ name: `${method} ${path}`, body, example: exampleOf(sent, document.components.schemas) }];
});

it("there is an example of most bodies", () => expect(examples.length).toBeGreaterThan(40));

it.each(examples)("$name", ({ body, example }) => {
  const read = body.safeParse(example);
  expect([example, read.error?.issues ?? []]).toEqual([example, []]);
});

it("the example of the config is the one that is in force until one is set", () => {
  const answer = document.paths["/config"]?.get?.responses["200"]?.content?.["application/json"]?.schema ?? {};
  expect(exampleOf(answer, document.components.schemas)).toEqual(DEFAULT_CONFIG_DOCUMENT);
});
