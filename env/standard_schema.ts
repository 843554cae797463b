/**
 * The part of Standard Schema (https://standardschema.dev, version 1) that is used here: the interface that zod,
 * valibot, arktype and others share, so that none of them has to be imported to accept their schemas.
 */
export interface StandardSchema<Output = unknown, Input = unknown> {
  /** The interface's own property. */
  readonly "~standard": {
    /** Version of the interface. */
    readonly version: 1;
    /** The library's name. */
    readonly vendor: string;
    /** Parses a value; a promise when the schema is asynchronous. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    /** Types only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The result of parsing: a value, or issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One error in an input. */
export interface StandardIssue {
  /** Description of the error. */
  readonly message: string;
  /** Path of the value: keys from the outside in. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * Creates a schema of this package.
 *
 * @param validate Checks a value.
 */
export function createSchema<Output>(
  validate: StandardSchema<Output>["~standard"]["validate"],
): StandardSchema<Output> {
  return { "~standard": { version: 1, vendor: "trellis", validate } };
}
