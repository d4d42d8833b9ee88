// Which model a client of the front door means by the name that it sends.

import { modelKeyOf } from "./model-name.ts";
import type { Tier } from "./requirements.ts";

/** Equal, or equal but for `:latest` and an owner that one side leaves out. */
export const isSameModel = (one: string, other: string): boolean => {
  const [left, right] = [modelKeyOf(one), modelKeyOf(other)];
  if (left === right) return true;
  // Two different owners of one name are two models; a missing owner is only left out.
  const isOwnerLeftOut = left.includes("/") !== right.includes("/");
  return isOwnerLeftOut && withoutOwner(left) === withoutOwner(right);
};

const withoutOwner = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

/** A name of the tenant's own for a model; what else it sets binds as if the client had asked for it. */
export interface Alias {
  readonly model: string;
  readonly provider: string | null;
  readonly tags: readonly string[];
  readonly tier: Tier | null;
}

/** What a registered worker says of models. */
export interface ModelOffer {
  readonly provider: string;
  /** null where it takes any. */
  readonly models: readonly string[] | null;
  readonly runtimeModels: readonly string[] | null;
  readonly isOffline: boolean;
}

const namesOf = ({ models, runtimeModels }: ModelOffer): readonly string[] => models ?? runtimeModels ?? [];
const takesAny = ({ models, isOffline }: ModelOffer): boolean => models === null && !isOffline;

/** As a list writes it; an equal name goes before one that is only nearly equal. */
const offeredAs = (name: string, offers: readonly ModelOffer[]): string | null => {
  let near: string | null = null;
  for (const offer of offers) {
    for (const listed of namesOf(offer)) {
      if (listed === name) return listed;
      if (near === null && isSameModel(listed, name)) near = listed;
    }
  }
  return near;
};

const plain = (model: string, provider: string | null = null): Alias => ({ model, provider, tags: [], tier: null });

/** `<provider>/<model>` of a registered provider that has it, or takes any. */
const ofNamedProvider = (asked: string, offers: readonly ModelOffer[]): Alias | null => {
  const [first = "", ...rest] = asked.split("/");
  const model = rest.join("/");
  const ofProvider = model === "" ? [] : offers.filter(({ provider }) => provider === first);
  const known = offeredAs(model, ofProvider);
  return known !== null || ofProvider.some(takesAny) ? plain(known ?? model, first) : null;
};

/**
 * The first that fits: an alias; a model that somebody offers by this very name; `<provider>/<model>` of a registered
 * provider; a model that is offered by nearly this name; any name, where a worker takes any. null: nobody has such a
 * model. A provider goes before a near name, as `local/m1` would else be anybody's `m1`, with an owner that was left out.
 */
export const resolveModel = (
  asked: string,
  aliases: Readonly<Record<string, Alias>>,
  offers: readonly ModelOffer[],
): Alias | null => {
  const alias = Object.hasOwn(aliases, asked) ? aliases[asked] : undefined;
  if (alias !== undefined) return { ...alias, model: offeredAs(alias.model, offers) ?? alias.model };
  const offered = offeredAs(asked, offers);
  if (offered === asked) return plain(offered);
  const pinned = ofNamedProvider(asked, offers);
  if (pinned !== null) return pinned;
  if (offered !== null) return plain(offered);
  return offers.some(takesAny) ? plain(asked) : null;
};
