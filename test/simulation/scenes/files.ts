// Whose a file is, and until when; and that a batch goes on where its file was silent.

import assert from "node:assert/strict";
import type { Credential } from "../../../durable-objects/steps/holders.ts";
import { keyOf } from "../world.ts";
import type { Scene, Shown } from "./scene.ts";

const HOUR_MS = 3_600_000;

const ANNOUNCED = { bytes: 5, origin: "https://x.example" };
const ARRIVED = { name: "f", contentType: "text/plain", purpose: null, bytes: 5, sha256: "digest", lifeMs: HOUR_MS };
const UPLOAD = { bytes: 5, name: "f", contentType: "text/plain", purpose: null, lifeMs: HOUR_MS };

const keyWith = async (scene: Scene, id: string, role: "standard" | "client"): Promise<Credential> => {
  const key = keyOf(id);
  await scene.done(scene.admin, "createKey", { ...key, name: id, role });
  return key;
};

const store = async (scene: Scene, key: Credential, id: string): Promise<void> => {
  await scene.done(key, "announceFile", { id, ...ANNOUNCED });
  await scene.done(key, "finishFile", { id, ...ARRIVED });
};

const LINE = { custom_id: "a", method: "POST", url: "/v1/chat/completions", body: { model: "m", messages: [] } };

const startBatch = async (scene: Scene): Promise<void> => {
  const bytes = scene.files.put("f", JSON.stringify(LINE));
  await scene.done(scene.admin, "announceFile", { id: "f", bytes, origin: ANNOUNCED.origin });
  await scene.done(scene.admin, "finishFile", { id: "f", ...ARRIVED, bytes, purpose: "batch" });
  const asked = { id: "b", form: "openai", fileId: "f", origin: ANNOUNCED.origin, api: "chat/completions" } as const;
  const window = { completionWindow: "24h", windowMs: 24 * HOUR_MS, outputLifeMs: HOUR_MS, metadata: null };
  await scene.done(scene.admin, "createBatch", { ...asked, ...window });
};

const statusOfBatch = async (scene: Scene): Promise<string> =>
  (await scene.done(scene.admin, "getBatch", { id: "b" })).batch.status;

/** Why it was refused, or null. */
const codeOf = async (asking: ReturnType<Scene["ask"]>): Promise<string | null> => {
  const answer = await asking;
  return answer.ok ? null : answer.error.code;
};

export const SCENES_OF_FILES: readonly Shown[] = [
  {
    what: "a file that is on its way is its key's: for another key there is nothing to finish, and nothing to go on with",
    shown: async (scene) => {
      const other = await keyWith(scene, "other", "standard");
      await scene.done(scene.admin, "announceFile", { id: "f", ...ANNOUNCED, upload: UPLOAD });
      assert.equal(await codeOf(scene.ask(other, "getUpload", { id: "f" })), "not_found");
      assert.equal(await codeOf(scene.ask(other, "finishFile", { id: "f", ...ARRIVED })), "not_found");
      assert.equal((await scene.done(scene.admin, "getUpload", { id: "f" })).bytes, 5);
      assert.equal((await scene.done(scene.admin, "finishFile", { id: "f", ...ARRIVED })).bytes, 5);
    },
  },
  {
    what: "a file is there until its end, also where the alarm is late",
    shown: async (scene) => {
      await store(scene, scene.admin, "f");
      scene.holdAlarm(true);
      await scene.pass(HOUR_MS - 1);
      assert.equal(await codeOf(scene.ask(scene.admin, "readFile", { id: "f" })), null);
      await scene.pass(1);
      assert.equal(await codeOf(scene.ask(scene.admin, "readFile", { id: "f" })), "not_found");
      assert.equal(await codeOf(scene.ask(scene.admin, "getFile", { id: "f" })), "not_found");
    },
  },
  {
    what: "a client sees the files of its own key, and no other",
    shown: async (scene) => {
      const [one, other] = [await keyWith(scene, "one", "client"), await keyWith(scene, "other", "client")];
      await store(scene, one, "f");
      for (const name of ["getFile", "readFile", "deleteFile"] as const)
        assert.equal(await codeOf(scene.ask(other, name, { id: "f" })), "not_found");
      assert.equal((await scene.done(one, "readFile", { id: "f" })).bytes, 5);
    },
  },
  {
    what: "a batch whose file did not answer is asked about again, though nothing else happens",
    shown: async (scene) => {
      scene.files.mood = "silent";
      await startBatch(scene);
      scene.files.mood = "fine";
      assert.equal(await statusOfBatch(scene), "validating");
      await scene.pass(60_000);
      assert.equal(await statusOfBatch(scene), "in_progress");
    },
  },
];
