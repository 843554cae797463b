/** Returns true if a value is valid. */
export type Check = (value: unknown) => boolean;

/** The checks and defaults of one group of settings. */
export interface SettingsGroup<TSettings extends object, TDefaults extends Partial<TSettings>> {
  /** The expected value and its check by setting: `["a folder", isText]`. */
  readonly checks: {
    readonly [Name in keyof Required<TSettings>]: readonly [what: string, check: Check];
  };
  readonly defaults: TDefaults;
}

/** A group's settings after defaults are applied. */
export type Resolved<TSettings extends object, TGroup extends { readonly defaults: object }> =
  Readonly<
    TSettings & Required<Pick<TSettings, keyof TGroup["defaults"] & keyof TSettings>>
  >;

/** Returns true for a string that is not blank. */
export const isText: Check = (value) => typeof value === "string" && value.trim() !== "";

/** Returns true for an object that is not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
