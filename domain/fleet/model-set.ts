// The models that a worker names or its runtime lists, as the fleet keeps them: a number for each name. The names
// themselves stay on disk, so that the longest lists of twenty thousand workers fit into the memory of one object.

import { leadingCount } from "../words/leading-count.ts";
import { modelKeyOf } from "../words/model-key.ts";
import { listedKeysOf, MAX_RUNTIME_MODELS } from "./model-name.ts";

export interface ModelSet {
  /** The same for equal lists. */
  readonly id: string;
  /** How many names the list has. */
  readonly count: number;
  /** Ascending: the numbers of the names, and of those with an owner once more without it. */
  readonly digests: Float64Array;
  /** What the list counts against the bound of all offers. */
  readonly bytes: number;
}

/** A short name counts as much as its numbers take. */
const BYTES_A_DIGEST = 16;

const FIRST_SEED = 0xdeadbeef;
const SECOND_SEED = 0x41c6ce57;

/** 53 bits that are the same for the same text (cyrb53): of millions of names, no two are expected to share them. */
export const digestOf = (text: string): number => {
  let [one, other] = [FIRST_SEED, SECOND_SEED];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 2_654_435_761);
    other = Math.imul(other ^ code, 1_597_334_677);
  }
  one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
  other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909);
  return 2 ** 32 * (other & 0x1fffff) + (one >>> 0);
};

export const ownerless = (key: string): string => key.slice(key.lastIndexOf("/") + 1);
/** No name begins with the mark, so `m1` is not taken for `owner/m1`. */
const OWNERLESS_MARK = "\u0000";

/** The number of a model, the same for all of its names. */
export const modelDigestOf = (model: string): number => digestOf(modelKeyOf(model));

const digestsOf = (name: string): number[] => {
  const key = modelKeyOf(name);
  const own = listedKeysOf(name).map(digestOf);
  return key.includes("/") ? [...own, digestOf(OWNERLESS_MARK + ownerless(key))] : own;
};

export const utf8Length = (text: string): number => {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair is two of its four bytes.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
};

export const modelSetIdOf = (names: readonly string[]): string => `${names.length} ${digestOf(names.join("\n"))}`;

export const modelSetOf = (names: readonly string[]): ModelSet => {
  const digests = new Set<number>();
  let bytes = 0;
  for (const name of names) {
    const own = digestsOf(name);
    for (const digest of own) digests.add(digest);
    bytes += Math.max(utf8Length(name), own.length * BYTES_A_DIGEST);
  }
  return { id: modelSetIdOf(names), count: names.length, digests: Float64Array.from(digests).sort(), bytes };
};

const has = ({ digests }: ModelSet, digest: number): boolean =>
  digests[leadingCount(digests, (one) => one < digest)] === digest;

/** What a worker says about its models. */
interface OfferedSets {
  readonly models: ModelSet | null;
  readonly runtimeModels: ModelSet | null;
}

/** A runtime's list, if it is known to be complete. */
const wholeListOf = ({ runtimeModels }: OfferedSets): ModelSet | null =>
  runtimeModels === null || runtimeModels.count === 0 || runtimeModels.count >= MAX_RUNTIME_MODELS
    ? null
    : runtimeModels;

/** The models that a worker takes: those that it names, else those that its runtime lists; null for any. */
export const modelsTaken = (offer: OfferedSets): ModelSet | null => offer.models ?? wholeListOf(offer);

/** For many sets: the name is read once. */
export const withModel = (model: string): ((set: ModelSet) => boolean) => {
  const digest = modelDigestOf(model);
  return (set) => has(set, digest);
};

/** Whether a list may have this name, or a name that is equal but for its owner; only the list itself is certain. */
export const withSimilarModel = (model: string): ((set: ModelSet) => boolean) => {
  const key = modelKeyOf(model);
  const wanted = [digestOf(key), digestOf(OWNERLESS_MARK + ownerless(key)), digestOf(ownerless(key))];
  return (set) => wanted.some((digest) => has(set, digest));
};

/** Whether a list may have one of these names; only the list itself is certain. */
export const withAnyModel = (models: readonly string[]): ((set: ModelSet) => boolean) => {
  const wanted = new Set(models.map(modelDigestOf));
  return ({ digests }) => digests.some((digest) => wanted.has(digest));
};
