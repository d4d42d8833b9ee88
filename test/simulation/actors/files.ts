// Files and stored answers: clients that store and delete them, jobs that name them, workers that store outputs, and
// batches that are deleted. What each file has was sent once; the objects with the bytes are in `batches.ts`.

import { newShelvedId } from "../../../domain/file/file.ts";
import { ROW_BYTES } from "../../../durable-objects/files/rows.ts";
import type { HeldInput } from "../../../durable-objects/operations/front-door/responses.ts";
import { newJob } from "../../support/new-job.ts";
import type { StepKind } from "../plan.ts";
import { oneOf, pickOf } from "../platform/random.ts";
import type { Action, World } from "../world.ts";
import { noteUnheard, withWorker } from "./workers.ts";

const ORIGIN = "https://x.example";
const MOST_BYTES = 1_000_000;
const HOUR_MS = 3_600_000;

interface Sent {
  readonly id: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The bytes of a file reach their object; null if the tenant takes none. */
const send = (world: World, size: number): Sent => {
  const bytes = Math.floor(size * MOST_BYTES);
  const id = bytes < ROW_BYTES ? newShelvedId(world.fresh("file")) : world.fresh("file");
  const sent = { id, bytes, sha256: `digest of ${id}` };
  world.model.sentFiles.set(id, sent);
  world.shell.files.keep(id);
  return sent;
};

const factsOf = ({ id, bytes, sha256 }: Sent) => ({ id, bytes, sha256, name: id, contentType: "application/json" });

/** Now and then its length is not known before, its client breaks off, or it says twice that it has arrived. */
const store: Action = async (world, [size, life, ending, declared]) => {
  const { admin, shell } = world;
  const sent = send(world, size);
  const bytes = declared < 0.5 ? null : sent.bytes;
  if (!(await shell.call(admin, "announceFile", { id: sent.id, bytes, origin: ORIGIN }))?.ok) return;
  if (ending < 0.1) return;
  const arrived = { ...factsOf(sent), purpose: null, lifeMs: life < 0.3 ? 60_000 : HOUR_MS * 24 };
  if (ending > 0.2) await shell.call(admin, "finishFile", arrived);
  if (ending > 0.9) await shell.call(admin, "finishFile", arrived);
  const isForgotten = ending < 0.3 && (await shell.call(admin, "forgetFile", { id: sent.id }))?.ok === true;
  if (isForgotten && ending <= 0.2) world.model.deleted.add(sent.id);
};

const filesOf = ({ shell }: World): string[] =>
  shell.disk.rows("SELECT id FROM files WHERE is_whole = 1").map(({ id }) => id as string);

const remove: Action = async (world, [which]) => {
  const id = pickOf(filesOf(world), which);
  if (id === undefined) return;
  if ((await world.shell.call(world.admin, "deleteFile", { id }))?.ok) world.model.deleted.add(id);
};

const use: Action = async (world, [which, other]) => {
  const files = [which, other].flatMap((chance) => pickOf(filesOf(world), chance) ?? []);
  const prompt = world.fresh("prompt");
  world.model.asked.add(prompt);
  const job = newJob({ prompt, input: { of: prompt }, files });
  const answer = await world.shell.call(world.admin, "createJob", { job, idempotency: null });
  if (answer?.ok) world.model.accept(answer.value.id, prompt);
};

/** An output, or a result that no report names. */
const storeOutput = withWorker(async (world, { credential, instance, held }, [, which, size, ending, kind]) => {
  const [id, lease] = pickOf([...held], which) ?? [];
  if (id === undefined || lease === undefined) return;
  const { shell } = world;
  const job = { id, lease: lease.lease, instance };
  const sent = send(world, size);
  noteUnheard(world, job);
  if (!(await shell.call(credential, "announceOutput", { id: sent.id, bytes: null, origin: ORIGIN, job }))?.ok) return;
  if (ending > 0.15) await shell.call(credential, "finishOutput", { ...factsOf(sent), job, isResult: kind < 0.3 });
  const isForgotten = ending < 0.3 && (await shell.call(credential, "forgetOutput", { id: sent.id }))?.ok === true;
  if (isForgotten && ending <= 0.15) world.model.deleted.add(sent.id);
});

/** The input of a long turn lies in a file. */
const storeInput = async (world: World, size: number): Promise<HeldInput | null> => {
  const { admin, shell } = world;
  const sent = send(world, size);
  const announced = await shell.call(admin, "announceFile", { id: sent.id, bytes: sent.bytes, origin: ORIGIN });
  if (!announced?.ok || !(await shell.call(admin, "finishInput", factsOf(sent)))?.ok) return null;
  return { head: "{}", input: null, inputFile: sent.id, inputBytes: sent.bytes };
};

/** In the background or for a client that waits; it may follow an earlier one, which may be gone by then. */
const askStored: Action = async (world, [size, background, previous, stream, queue]) => {
  const { admin, model, shell } = world;
  const held = size < 0.3 ? await storeInput(world, size) : null;
  const before = pickOf(model.responses, previous);
  const chain =
    before === undefined ? null : await shell.call(admin, "readChain", { id: before, isBeginning: stream < 0.5 });
  const follows = chain?.ok === true ? { previousId: before ?? null, turns: chain.value.turns + 1 } : null;
  const prompt = world.fresh("asked");
  model.asked.add(prompt);
  const answer = await shell.call(admin, "ask", {
    id: null,
    api: "responses",
    stream: stream < 0.3,
    model: "m",
    prompt,
    input: { input: prompt, model: "m" },
    session: null,
    headers: {},
    provider: null,
    tags: [],
    priority: "normal",
    tier: null,
    timeoutMs: null,
    queueMs: oneOf([null, 3_000, 60_000], queue),
    idempotency: null,
    traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
    response: {
      isBackground: background < 0.5,
      previousId: follows?.previousId ?? null,
      turns: follows?.turns ?? 1,
      earlierBytes: chain?.ok === true ? chain.value.bytes : 0,
      carried: 0,
      held,
    },
  });
  if (answer?.ok && answer.value.response !== null) model.responses.push(answer.value.job.id);
};

const endStored: Action = async (world, [which, what]) => {
  const { admin, model, shell } = world;
  const id = pickOf(model.responses, which);
  if (id === undefined) return;
  if (what < 0.4) await shell.call(admin, "cancelResponse", { id });
  else if ((await shell.call(admin, "deleteResponse", { id }))?.ok) model.deleted.add(id);
};

const removeBatch: Action = async (world, [which]) => {
  const { admin, model, shell } = world;
  const id = pickOf(model.batches, which)?.id;
  if (id === undefined) return;
  if ((await shell.call(admin, "deleteBatch", { id }))?.ok) model.deleted.add(id);
};

export const FILE_ACTIONS = {
  "store a file": store,
  "delete a file": remove,
  "use a file": use,
  "store an output": storeOutput,
  "ask for a stored answer": askStored,
  "end a stored answer": endStored,
  "delete a batch": removeBatch,
} satisfies Partial<Record<StepKind, Action>>;
