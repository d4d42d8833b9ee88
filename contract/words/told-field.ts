// Types that check that a resource contains every field of a record, except the internal ones.

type Snake<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : "";

type WireName<Field, Renamed> = Field extends keyof Renamed
  ? Renamed[Field]
  : Field extends string
    ? Snake<Field>
    : never;

type Untold<Record, Inside, Renamed, Resource> = Exclude<
  WireName<Exclude<keyof Record, Inside>, Renamed>,
  keyof Resource
>;

/** `true`, or the names that are missing. */
export type EveryFieldIsTold<Record, Inside extends keyof Record, Renamed, Resource> = [
  Untold<Record, Inside, Renamed, Resource>,
] extends [never]
  ? true
  : Untold<Record, Inside, Renamed, Resource>;
