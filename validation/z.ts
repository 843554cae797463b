import type * as core from "zod/v4/core";
import * as zod from "zod";

/** zod as a value, with the types of schemas that are named most. Import zod itself for its others. */
export const z: typeof zod = zod;

/** Any schema of zod, by what it gives and what it takes. */
export type ZodType<Output = unknown, Input = unknown> = zod.ZodType<Output, Input>;

/** {@link ZodType} under its older name. */
export type ZodSchema<Output = unknown, Input = unknown> = zod.ZodType<Output, Input>;

/** Types of {@link z}. */
export declare namespace z {
  export type infer<T> = zod.infer<T>;
  export type input<T> = zod.input<T>;
  export type output<T> = zod.output<T>;
  export type TypeOf<T> = zod.TypeOf<T>;
  export type RefinementCtx<T = unknown> = zod.RefinementCtx<T>;
  export type ZodError<T = unknown> = zod.ZodError<T>;
  export type ZodSafeParseResult<T> = zod.ZodSafeParseResult<T>;
  export type ZodType<Output = unknown, Input = unknown> = zod.ZodType<Output, Input>;
  export type ZodSchema<Output = unknown, Input = unknown> = zod.ZodType<Output, Input>;
  export type ZodObject<
    Shape extends core.$ZodShape = core.$ZodLooseShape,
    Config extends core.$ZodObjectConfig = core.$strip,
  > = zod.ZodObject<Shape, Config>;
  export type ZodRawShape = zod.ZodRawShape;
  export type ZodArray<T extends core.SomeType = core.$ZodType> = zod.ZodArray<T>;
  export type ZodEnum<T extends core.util.EnumLike = core.util.EnumLike> = zod.ZodEnum<T>;
  export type ZodNullable<T extends core.SomeType = core.$ZodType> = zod.ZodNullable<T>;
  export type ZodOptional<T extends core.SomeType = core.$ZodType> = zod.ZodOptional<T>;
  export type ZodString = zod.ZodString;
  export type ZodNumber = zod.ZodNumber;
  export type ZodBoolean = zod.ZodBoolean;
  export type ZodUUID = zod.ZodUUID;
}
