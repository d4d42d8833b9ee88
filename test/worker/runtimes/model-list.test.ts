import { expect, test } from "vitest";
import { classifyError } from "../../../worker/runtimes/classify.ts";
import { fetchModelList } from "../../../worker/runtimes/model-list.ts";

test("a list of models that stops halfway until the time is up is a runtime that does not answer: jobs are tried again", async () => {
  const timedOut = new DOMException("The operation was aborted due to timeout", "TimeoutError");
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('{"data":['));
    },
    pull: (controller) => controller.error(timedOut),
  });
  const asked = fetchModelList("http://runtime.example/v1/models", null, async () => new Response(body));
  const error = await asked.catch((thrown: unknown) => thrown);
  expect(classifyError(error, 0)).toMatchObject({
    code: "runtime_unreachable",
    message: "The runtime cannot be reached: The operation was aborted due to timeout",
    retryable: true,
  });
});
