// Which model a client of the front door means by a name.

import { listedKeysOf } from "../fleet/model-name.ts";
import { type ModelSet, ownerless, withSimilarModel } from "../fleet/model-set.ts";
import type { ModelChoice } from "../job/job-facts.ts";
import { entryOf } from "../words/entry-of.ts";
import { hashedPartOf } from "../words/fnv.ts";
import { modelKeyOf } from "../words/model-key.ts";

/** Equal, except for `:latest` and an owner that one side omits. */
export const isSameModel = (one: string, other: string): boolean => {
  const [left, right] = [modelKeyOf(one), modelKeyOf(other)];
  if (left === right) return true;
  // Different owners mean different models; a missing owner matches any.
  const isOwnerLeftOut = left.includes("/") !== right.includes("/");
  return isOwnerLeftOut && ownerless(left) === ownerless(right);
};

/** A name that the tenant defines for a model; its other settings apply as if the client had sent them. */
export interface Alias extends ModelChoice {
  /** Of a list: its share of the conversations that begin with it; null: in order. */
  readonly weight: number | null;
}

/** What a registered worker offers. */
export interface ModelOffer {
  readonly provider: string;
  /** The models that it names, or else those that its runtime lists; null if it has neither. */
  readonly listed: ModelSet | null;
  /** Their names without those in `missing`, read when one of them may be meant. */
  readonly names: () => readonly string[];
  /** Keys of models that its runtime answered not to have. */
  readonly missing: readonly string[];
  readonly takesAny: boolean;
}

const isNear = (listed: string, name: string): boolean =>
  isSameModel(listed, name) || listedKeysOf(listed).includes(modelKeyOf(name));

const takesAny =
  (model: string) =>
  (offer: ModelOffer): boolean =>
    offer.takesAny && !offer.missing.includes(modelKeyOf(model));

/** The name as the list has it; an equal name takes precedence over a similar one. */
const offeredAs = (name: string, offers: readonly ModelOffer[]): string | null => {
  let near: string | null = null;
  const maybeMeant = withSimilarModel(name);
  for (const offer of offers) {
    if (offer.listed === null || !maybeMeant(offer.listed)) continue;
    for (const listed of offer.names()) {
      if (listed === name) return listed;
      if (near === null && isNear(listed, name)) near = listed;
    }
  }
  return near;
};

/** A model that is asked for by its own name. */
export const plainChoice = (model: string, provider: string | null = null): ModelChoice => ({
  model,
  provider,
  tags: [],
  tier: null,
});

/** `<provider>/<model>` for a registered provider that has the model or takes any. */
const ofNamedProvider = (asked: string, offers: readonly ModelOffer[]): ModelChoice | null => {
  const [first = "", ...rest] = asked.split("/");
  const model = rest.join("/");
  const ofProvider = model === "" ? [] : offers.filter(({ provider }) => provider === first);
  const known = offeredAs(model, ofProvider);
  return known !== null || ofProvider.some(takesAny(model)) ? plainChoice(known ?? model, first) : null;
};

/** With weights, a conversation begins with the same entry each time; the others follow in order. */
const inTurn = (entries: readonly Alias[], seed: string): readonly Alias[] => {
  if (entries.every(({ weight }) => weight === null)) return entries;
  const total = entries.reduce((sum, { weight }) => sum + (weight ?? 1), 0);
  let left = hashedPartOf(seed) * total;
  const first = entries.find(({ weight }) => {
    left -= weight ?? 1;
    return left < 0;
  });
  return first === undefined ? entries : [first, ...entries.filter((one) => one !== first)];
};

/**
 * What a name means, in the order in which it is tried: an alias may be a list. Empty: no worker has such a model.
 * `seed`: of the conversation.
 */
export const choicesOf = (
  asked: string,
  aliases: Readonly<Record<string, readonly Alias[]>>,
  offers: readonly ModelOffer[],
  seed: string,
): readonly ModelChoice[] => {
  const entries = entryOf(aliases, asked);
  if (entries === undefined) {
    const found = resolveModel(asked, offers);
    return found === null ? [] : [found];
  }
  return inTurn(entries, seed).map(({ weight: _, ...choice }) => ({
    ...choice,
    model: offeredAs(choice.model, offers) ?? choice.model,
  }));
};

/**
 * The names under which a key's patterns may allow what it asks for and gets. An owner that the client alone names
 * counts only where a pattern is just that name: otherwise `m1/m2` would be `m2` for a key that may use `m1*`.
 */
export const namesToAllow = (
  asked: string,
  choice: ModelChoice | undefined,
  aliases: Readonly<Record<string, unknown>>,
  patterns: readonly string[] | null,
): readonly string[] => {
  if (choice === undefined) return [asked];
  const { model, provider } = choice;
  const isOwnerAdded = provider === null && asked.includes("/") && !model.includes("/");
  const isMeant = !isOwnerAdded || Object.hasOwn(aliases, asked) || patterns?.includes(asked);
  return isMeant ? [asked, model] : [model];
};

/**
 * The first match of: a model offered under exactly this name; `<provider>/<model>` of a registered provider; a model
 * offered under a similar name; any name, if a worker takes any. null: no worker has such a model. The provider comes
 * before similar names, because otherwise `local/m1` would match anyone's `m1` with its owner omitted.
 */
const resolveModel = (asked: string, offers: readonly ModelOffer[]): ModelChoice | null => {
  const offered = offeredAs(asked, offers);
  if (offered === asked) return plainChoice(offered);
  const pinned = ofNamedProvider(asked, offers);
  if (pinned !== null) return pinned;
  if (offered !== null) return plainChoice(offered);
  return offers.some(takesAny(asked)) ? plainChoice(asked) : null;
};
