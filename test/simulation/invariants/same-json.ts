// Whether two parsed JSON values are equal.

type Fields = Readonly<Record<string, unknown>>;

export const isSameJson = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSameJson((one as Fields)[key], (other as Fields)[key]));
};
