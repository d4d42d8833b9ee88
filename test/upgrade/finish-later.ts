// What was under way in the tenant with what came after 0.1.0 is brought to its end, as if nothing had been between.

import { expect } from "vitest";
import type { Client } from "./client.ts";
import type { Expectations } from "./fixture.ts";
import { complete, download, sha256, type Taken, take, untilEnded, WORKER } from "./later-tenant.ts";

type Later = NonNullable<Expectations["later"]>;

export const finishLater = async ({ key, files, batch, response, task }: Later, clientOf: (key: string) => Client) => {
  const admin = clientOf(key);
  for (const file of files) expect(sha256(await download(admin, file.id)), file.id).toBe(file.sha256);

  await admin.post("/presence", WORKER);
  await admin.post(`/api/model-tasks/${task}/done`, {});
  const { tasks } = await admin.get("/api/model-tasks");
  expect(tasks).toMatchObject([{ id: task, action: "pull", model: "m9", status: "done" }]);

  await complete(admin, response.held as Taken);
  const whole = await admin.get(`/v1/responses/${response.id}`);
  expect(whole).toMatchObject({ status: "completed", previous_response_id: response.follows });
  expect((await admin.get(`/v1/responses/${response.id}/input_items`)).data).toHaveLength(3);

  await complete(admin, batch.held as Taken);
  await complete(admin, await take(admin));
  const ended = await untilEnded(admin, batch.id);
  expect(ended).toMatchObject({ status: "completed", total: 4, completed: 3, failed: 1 });
  const namesIn = async (file: string): Promise<string[]> => {
    const text = new TextDecoder().decode(await download(admin, file));
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).custom_id)
      .sort();
  };
  expect(await namesIn(ended.error_file)).toEqual(batch.failed);
  const answered = batch.lines.filter((name) => !batch.failed.includes(name));
  expect(await namesIn(ended.output_file)).toEqual(answered.toSorted());
};
