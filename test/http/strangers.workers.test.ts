// Requests without a key: what one address may have under way, and that bodies that never come keep nobody out.

import { expect, it } from "vitest";
import { BOUNDS } from "../../src/http/shares.ts";
import { newWorld, ORIGIN } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";

const HEADERS = { "content-type": "application/json", "cf-connecting-ip": "203.0.113.9" };

const signIn = async (body: BodyInit): Promise<number> => {
  const answer = await edgeFetch(`${ORIGIN}/session`, { method: "POST", headers: HEADERS, body });
  await answer.text();
  return answer.status;
};

/** A body whose second half comes when the test says so. */
const slowBody = (text: string) => {
  let finish = (): void => undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text.slice(0, 5)));
      finish = () => {
        controller.enqueue(new TextEncoder().encode(text.slice(5)));
        controller.close();
      };
    },
  });
  return { body, finish: () => finish() };
};

it("slow sign-ins of one address keep nobody of that address from signing in, and are answered when they are in", async () => {
  const world = await newWorld();
  const text = JSON.stringify({ key: world.key });
  const slow = Array.from({ length: BOUNDS.usual.stranger.requests + 10 }, () => slowBody(text));
  const answers = slow.map(({ body }) => signIn(body));
  expect(await signIn(text)).toBe(200);
  for (const { finish } of slow) finish();
  const statuses = await Promise.all(answers);
  // Self-hosted, all tests have one address: what others of them have under way counts, too.
  const most = BOUNDS.usual.stranger.requests;
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(most / 2);
});

it("a sign-in whose body does not come is ended", async () => {
  expect(await signIn(slowBody("{}   ").body)).toBe(408);
});
