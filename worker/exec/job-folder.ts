// The folders of a job: an empty one that its command runs in, one for the job's files, and the job as JSON beside them.
// All of it is removed afterwards, by the next worker if this one is killed.

import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ownPrefix } from "./left-folders.ts";

export class JobFolder {
  readonly #place: string;
  readonly work: string;
  readonly files: string;
  readonly job: string;

  private constructor(place: string) {
    this.#place = place;
    this.work = path.join(place, "work");
    this.files = path.join(place, "files");
    this.job = path.join(place, "job.json");
  }

  static async create(): Promise<JobFolder> {
    // Readable by this user alone.
    const folder = new JobFolder(await mkdtemp(path.join(tmpdir(), await ownPrefix())));
    await mkdir(folder.work);
    await mkdir(folder.files);
    return folder;
  }

  async describe(facts: object): Promise<string> {
    const line = JSON.stringify(facts);
    await writeFile(this.job, `${line}\n`);
    return line;
  }

  /**
   * The path of a file that the command has written. Never one outside its folders: what a command repeats of its prompt
   * would else send any file of this machine to the client. @throws Error that says what is wrong with it.
   */
  async output(name: string): Promise<string> {
    const place = await realpath(path.resolve(this.work, name)).catch(() => null);
    const found = place === null ? null : await stat(place);
    if (place === null || found?.isFile() !== true)
      throw new Error(`The command named ${name} as an output, but wrote no such file`);
    if (!place.startsWith((await realpath(this.#place)) + path.sep))
      throw new Error(`The command named ${name} as an output, which is not in its folder`);
    return place;
  }

  remove(): Promise<void> {
    return rm(this.#place, { recursive: true, force: true, maxRetries: 3 });
  }
}
