/** Whether a value will do. */
export type Check = (value: unknown) => boolean;

/** A part of the configuration: what its settings must be, and what they are when they are left out. */
export interface SettingsGroup<TSettings extends object, TDefaults extends Partial<TSettings>> {
  /** `["a folder", isText]`, by setting. */
  readonly checks: {
    readonly [Name in keyof Required<TSettings>]: readonly [what: string, check: Check];
  };
  readonly defaults: TDefaults;
}

/** A group's settings once defaults are filled in. */
export type Resolved<TSettings extends object, TGroup extends { readonly defaults: object }> =
  Readonly<
    TSettings & Required<Pick<TSettings, keyof TGroup["defaults"] & keyof TSettings>>
  >;

/** A text that says something. */
export const isText: Check = (value) => typeof value === "string" && value.trim() !== "";

/** An object with fields. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
