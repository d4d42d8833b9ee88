// The official clients against a service without any worker process, self-hosted and as it is deployed: the coordinator
// calls the provider itself.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { HOMES, type Hosted, KEY, startHosted } from "./hosted.ts";

const HELLO = [{ role: "user" as const, content: "say hello to all" }];

describe.each(Object.keys(HOMES) as (keyof typeof HOMES)[])("%s", (home) => {
  const data = folderForAllTests();
  let hosted: Hosted;

  beforeAll(async () => {
    hosted = await startHosted(data.path, {}, home);
    await hosted.api("PUT", "/api/provider-keys/acme", { key: KEY });
    await hosted.enable();
  }, 120_000);

  afterEach(() => {
    hosted.acme.behave = () => undefined;
    hosted.claudia.behave = () => undefined;
  });

  afterAll(() => hosted?.stop());

  const openai = (): OpenAI =>
    new OpenAI({ baseURL: `${hosted.server.url}/v1`, apiKey: hosted.server.adminKey, maxRetries: 0 });
  const anthropic = (): Anthropic =>
    new Anthropic({ baseURL: hosted.server.url, apiKey: hosted.server.adminKey, maxRetries: 0 });

  const jobOf = async (id: string) => hosted.api("GET", `/api/jobs/${id}?wait=20`);

  describe("openai", () => {
    test("chats, streamed and not, and the provider is always asked for a stream with its usage", async () => {
      const { data: whole, response } = await openai()
        .chat.completions.create({ model: "m1", messages: HELLO })
        .withResponse();
      expect(whole.choices[0]?.message.content).toBe("say hello to all");
      expect(response.headers.get("x-signalbox-worker")).toBe("edge-acme-0");
      let text = "";
      for await (const chunk of await openai().chat.completions.create({
        model: "m2",
        messages: HELLO,
        stream: true,
      })) {
        text += chunk.choices[0]?.delta.content ?? "";
        expect(chunk.choices.length).toBe(1);
      }
      expect(text).toBe("say hello to all");
      const asked = hosted.acme.asked.filter(({ path }) => path === "/v1/chat/completions");
      for (const { body, headers } of asked) {
        expect(body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
        expect(headers.authorization).toBe(`Bearer ${KEY}`);
      }
      const job = await jobOf(response.headers.get("x-signalbox-job") ?? "");
      expect(job).toMatchObject({ status: "completed", ran_provider: "acme", usage: { input_tokens: 7 } });
    });

    test("gets an answer over 1 MiB whole, which passes without being held", async () => {
      const rows = Array.from({ length: 300 }, (_, index) => ({ index, embedding: new Array(2_000).fill(0.125) }));
      const errorBody = { object: "list", data: rows, model: "m1", usage: { prompt_tokens: 300, total_tokens: 300 } };
      hosted.acme.behave = () => ({ status: 200, errorBody });
      const { data: answer, response } = await openai()
        .embeddings.create({ model: "m1", input: ["a"], encoding_format: "float" })
        .withResponse();
      expect(answer.data).toHaveLength(300);
      expect(answer.data[299]?.embedding).toHaveLength(2_000);
      const job = await jobOf(response.headers.get("x-signalbox-job") ?? "");
      expect(job).toMatchObject({ status: "completed", result: null, usage: { input_tokens: 300 } });
      expect(job.result_bytes).toBe(JSON.stringify(errorBody).length);
    });

    test("gets a stream of more than may be kept of an answer, and its job tells the size", async () => {
      const word = "word ".repeat(20_000);
      hosted.acme.behave = () => ({ words: new Array(40).fill(word) });
      const { data: stream, response } = await openai()
        .chat.completions.create({ model: "m1", messages: HELLO, stream: true })
        .withResponse();
      let chars = 0;
      for await (const chunk of stream) chars += chunk.choices[0]?.delta.content?.length ?? 0;
      expect(chars).toBe(40 * word.length);
      const job = await jobOf(response.headers.get("x-signalbox-job") ?? "");
      expect(job).toMatchObject({ status: "completed", result: null, usage: { input_tokens: 7 } });
      expect(job.result_bytes).toBeGreaterThan(chars);
      expect(job.result_bytes).toBeLessThan(chars + 1_000);
    });

    test("speaks completions, embeddings and responses", async () => {
      const completion = await openai().completions.create({ model: "m1", prompt: "say hello to all" });
      expect(completion.choices[0]?.text).toBe("say hello to all");
      const { data: rows } = await openai().embeddings.create({ model: "m1", input: ["a", "b"] });
      expect(rows.length).toBe(2);
      const response = await openai().responses.create({ model: "m1", input: "say hello to all" });
      expect(response.output_text).toBe("say hello to all");
    });
  });

  describe("anthropic", () => {
    test("gets a message, streamed and not", async () => {
      const whole = await anthropic().messages.create({ model: "c1", max_tokens: 50, messages: HELLO });
      expect(whole.content).toMatchObject([{ type: "text", text: "say hello to all" }]);
      const stream = anthropic().messages.stream({ model: "c1", max_tokens: 50, messages: HELLO });
      expect(await stream.finalText()).toBe("say hello to all");
      const asked = hosted.claudia.asked.filter(({ path }) => path.startsWith("/v1/messages"));
      expect(asked.length).toBe(2);
      for (const { headers, body } of asked) {
        expect(headers["x-api-key"]).toBe(KEY);
        expect(body.stream).toBe(true);
      }
    });
  });

  describe("an ordinary job", () => {
    test.each([
      ["acme", "m1"],
      ["claudia", "c1"],
    ])("runs on %s", async (provider, model) => {
      const input = { system: "Be kind.", max_tokens: 20 };
      const { id } = await hosted.api("POST", "/api/jobs", { prompt: "say hello to all", provider, model, input });
      const job = await jobOf(id);
      expect(job).toMatchObject({ status: "completed", result: { text: "say hello to all", finish_reason: "stop" } });
      expect(job.usage.input_tokens).toBeGreaterThan(0);
    });

    test.each([
      ["acme", "m1", { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } }],
      ["claudia", "c1", { type: "image", source: { type: "base64", media_type: "image/png", data: "AAEC" } }],
    ])("shows its image to %s", async (provider, model, image) => {
      const file = await fetch(`${hosted.server.url}/api/files?name=dot.png`, {
        method: "POST",
        headers: { authorization: `Bearer ${hosted.server.adminKey}`, "content-type": "image/png" },
        body: new Uint8Array([0, 1, 2]),
      });
      const { id: sent } = (await file.json()) as { id: string };
      const asked = { prompt: "look at it", provider, model, files: [sent] };
      const { id } = await hosted.api("POST", "/api/jobs", asked);
      expect(await jobOf(id)).toMatchObject({ status: "completed" });
      const { body } = (provider === "acme" ? hosted.acme : hosted.claudia).asked.at(-1) ?? {};
      expect(body?.messages).toEqual([{ role: "user", content: [{ type: "text", text: "look at it" }, image] }]);
    });

    test("whose parameter the provider cannot have fails by its name", async () => {
      const asked = { prompt: "x", provider: "claudia", model: "c1", input: { seed: 7 } };
      const { id } = await hosted.api("POST", "/api/jobs", asked);
      expect((await jobOf(id)).error).toMatchObject({ code: "unsupported_input", message: /input\.seed/ });
    });
  });

  describe("a call ends", () => {
    const stalls = { words: ["Hel", "lo", "all"], stallAfter: 1 };
    const closed = async () => eventually(() => expect(hosted.acme.asked.at(-1)).toMatchObject({ isAborted: true }));

    test("with the client that leaves, and what was said is counted", async () => {
      hosted.acme.behave = () => stalls;
      const halt = new AbortController();
      const stream = await openai().chat.completions.create(
        { model: "m1", messages: HELLO, stream: true },
        { signal: halt.signal },
      );
      const reading = (async () => {
        for await (const _ of stream) halt.abort();
      })().catch(() => undefined);
      await closed();
      await reading;
      await eventually(async () => {
        const { jobs } = await hosted.api("GET", "/api/jobs?status=cancelled&limit=1");
        const { attempts } = await hosted.api("GET", `/api/jobs/${jobs[0].id}/attempts`);
        expect(attempts.at(-1)?.usage?.output_tokens).toBeGreaterThan(0);
      });
    });

    test("with a cancel", async () => {
      hosted.acme.behave = () => ({ headersAfterMs: 60_000 });
      const { id } = await hosted.api("POST", "/api/jobs", { prompt: "x", provider: "acme", model: "m1" });
      const before = hosted.acme.asked.length;
      await eventually(() => expect(hosted.acme.asked.length).toBeGreaterThan(before - 1));
      await eventually(async () => expect((await hosted.api("GET", `/api/jobs/${id}`)).status).toBe("running"));
      await hosted.api("POST", `/api/jobs/${id}/cancel`);
      await closed();
    });

    test("with the killswitch, and the stream says so", async () => {
      hosted.acme.behave = () => stalls;
      const stream = await openai().chat.completions.create({ model: "m1", messages: HELLO, stream: true });
      let said = "";
      const reading = (async () => {
        for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? "";
      })();
      reading.catch(() => undefined);
      await eventually(() => expect(said).not.toBe(""));
      await hosted.api("POST", "/killswitch", { level: 1, reason: "test" });
      await expect(reading).rejects.toThrow(/killswitch/);
      await closed();
      expect((await hosted.api("GET", "/killswitch")).unconfirmed).toEqual([]);
      await hosted.api("DELETE", "/killswitch?resume_all=true");
    });
  });

  test("the list of provider keys says whose they are", async () => {
    expect((await hosted.api("GET", "/api/provider-keys")).keys).toMatchObject([
      { provider: "acme", source: "tenant", set_by: expect.any(String) },
      { provider: "claudia", source: "operator", set_at: null },
    ]);
  });
});
