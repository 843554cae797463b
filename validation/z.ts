/**
 * `z` as a value with its types. Made by scripts/zod_namespace.ts.
 * @module
 */
// deno-lint-ignore-file no-explicit-any
import type * as core from "zod/v4/core";
import * as all from "./zod.ts";

/**
 * zod, without `z.locales` and `z.core`: see the guide on handlers for what it weighs.
 * `z.infer` and all other types are included.
 */
export const z: typeof all = all;

/** Any schema of zod, by what it gives and what it takes. */
export type ZodType<Output = unknown, Input = unknown> = all.ZodType<Output, Input>;

/** {@link ZodType} under its older name. */
export type ZodSchema<Output = unknown, Input = unknown> = all.ZodSchema<Output, Input>;

/** Types of {@link z}. */
export declare namespace z {
  export type $brand<T extends string | number | symbol = string | number | symbol> = all.$brand<T>;
  export type $input = all.$input;
  export type $output = all.$output;
  export type BRAND<T extends string | number | symbol = string | number | symbol> = all.BRAND<T>;
  export type CompileOptions = all.CompileOptions;
  export type GlobalMeta = all.GlobalMeta;
  export type Infer<T> = all.Infer<T>;
  export type IssueData = all.IssueData;
  export type JSONType = all.JSONType;
  export type RefinementCtx<T = unknown> = all.RefinementCtx<T>;
  export type SafeExtendShape<Base extends core.$ZodShape, Ext extends core.$ZodLooseShape> =
    all.SafeExtendShape<Base, Ext>;
  export type Schema<
    Output = unknown,
    Input = unknown,
    Internals extends core.$ZodTypeInternals<Output, Input> = core.$ZodTypeInternals<Output, Input>,
  > = all.Schema<Output, Input, Internals>;
  export type TypeOf<T> = all.TypeOf<T>;
  export type ZodAny = all.ZodAny;
  export type ZodArray<T extends core.SomeType = core.$ZodType> = all.ZodArray<T>;
  export type ZodBase64 = all.ZodBase64;
  export type ZodBase64URL = all.ZodBase64URL;
  export type ZodBigInt = all.ZodBigInt;
  export type ZodBigIntFormat<Format extends core.$ZodBigIntFormats = core.$ZodBigIntFormats> =
    all.ZodBigIntFormat<Format>;
  export type ZodBoolean = all.ZodBoolean;
  export type ZodCIDRv4 = all.ZodCIDRv4;
  export type ZodCIDRv6 = all.ZodCIDRv6;
  export type ZodCUID = all.ZodCUID;
  export type ZodCUID2 = all.ZodCUID2;
  export type ZodCatch<T extends core.SomeType = core.$ZodType> = all.ZodCatch<T>;
  export type ZodCodec<
    A extends core.SomeType = core.$ZodType,
    B extends core.SomeType = core.$ZodType,
  > = all.ZodCodec<A, B>;
  export type ZodCoercedBigInt<T = unknown> = all.ZodCoercedBigInt<T>;
  export type ZodCoercedBoolean<T = unknown> = all.ZodCoercedBoolean<T>;
  export type ZodCoercedDate<T = unknown> = all.ZodCoercedDate<T>;
  export type ZodCoercedNumber<T = unknown> = all.ZodCoercedNumber<T>;
  export type ZodCoercedString<T = unknown> = all.ZodCoercedString<T>;
  export type ZodCompileAsyncError = all.ZodCompileAsyncError;
  export type ZodCompileUnsupportedError = all.ZodCompileUnsupportedError;
  export type ZodCreditCard = all.ZodCreditCard;
  export type ZodCustom<O = unknown, I = unknown> = all.ZodCustom<O, I>;
  export type ZodCustomStringFormat<Format extends string = string> = all.ZodCustomStringFormat<
    Format
  >;
  export type ZodDate = all.ZodDate;
  export type ZodDefault<T extends core.SomeType = core.$ZodType> = all.ZodDefault<T>;
  export type ZodDiscriminatedUnion<
    Options extends readonly core.SomeType[] = readonly core.$ZodType[],
    Disc extends string = string,
  > = all.ZodDiscriminatedUnion<Options, Disc>;
  export type ZodE164 = all.ZodE164;
  export type ZodEmail = all.ZodEmail;
  export type ZodEmoji = all.ZodEmoji;
  export type ZodEnum<T extends core.util.EnumLike = core.util.EnumLike> = all.ZodEnum<T>;
  export type ZodError<T = unknown> = all.ZodError<T>;
  export type ZodErrorMap<T extends core.$ZodIssueBase = core.$ZodIssue> = all.ZodErrorMap<T>;
  export type ZodExactOptional<T extends core.SomeType = core.$ZodType> = all.ZodExactOptional<T>;
  export type ZodFile = all.ZodFile;
  export type ZodFirstPartySchemaTypes = all.ZodFirstPartySchemaTypes;
  export type ZodFlattenedError<T, U = string> = all.ZodFlattenedError<T, U>;
  export type ZodFloat32 = all.ZodFloat32;
  export type ZodFloat64 = all.ZodFloat64;
  export type ZodFormattedError<T, U = string> = all.ZodFormattedError<T, U>;
  export type ZodFunction<
    Args extends core.$ZodFunctionIn = core.$ZodFunctionIn,
    Returns extends core.$ZodFunctionOut = core.$ZodFunctionOut,
  > = all.ZodFunction<Args, Returns>;
  export type ZodGUID = all.ZodGUID;
  export type ZodIPv4 = all.ZodIPv4;
  export type ZodIPv6 = all.ZodIPv6;
  export type ZodISODate = all.ZodISODate;
  export type ZodISODateTime = all.ZodISODateTime;
  export type ZodISODuration = all.ZodISODuration;
  export type ZodISOTime = all.ZodISOTime;
  export type ZodInt = all.ZodInt;
  export type ZodInt32 = all.ZodInt32;
  export type ZodInt64 = all.ZodInt64;
  export type ZodIntersection<
    A extends core.SomeType = core.$ZodType,
    B extends core.SomeType = core.$ZodType,
  > = all.ZodIntersection<A, B>;
  export type ZodIssue = all.ZodIssue;
  export type ZodJSONSchema = all.ZodJSONSchema;
  export type ZodJSONSchemaInternals = all.ZodJSONSchemaInternals;
  export type ZodJWT = all.ZodJWT;
  export type ZodKSUID = all.ZodKSUID;
  export type ZodLazy<T extends core.SomeType = core.$ZodType> = all.ZodLazy<T>;
  export type ZodLiteral<T extends core.util.Literal = core.util.Literal> = all.ZodLiteral<T>;
  export type ZodMAC = all.ZodMAC;
  export type ZodMap<
    Key extends core.SomeType = core.$ZodType,
    Value extends core.SomeType = core.$ZodType,
  > = all.ZodMap<Key, Value>;
  export type ZodNaN = all.ZodNaN;
  export type ZodNanoID = all.ZodNanoID;
  export type ZodNever = all.ZodNever;
  export type ZodNonOptional<T extends core.SomeType = core.$ZodType> = all.ZodNonOptional<T>;
  export type ZodNull = all.ZodNull;
  export type ZodNullable<T extends core.SomeType = core.$ZodType> = all.ZodNullable<T>;
  export type ZodNumber = all.ZodNumber;
  export type ZodNumberFormat<Format extends core.$ZodNumberFormats = core.$ZodNumberFormats> =
    all.ZodNumberFormat<Format>;
  export type ZodObject<
    Shape extends core.$ZodShape = core.$ZodLooseShape,
    Config extends core.$ZodObjectConfig = core.$strip,
  > = all.ZodObject<Shape, Config>;
  export type ZodOptional<T extends core.SomeType = core.$ZodType> = all.ZodOptional<T>;
  export type ZodPipe<
    A extends core.SomeType = core.$ZodType,
    B extends core.SomeType = core.$ZodType,
  > = all.ZodPipe<A, B>;
  export type ZodPrefault<T extends core.SomeType = core.$ZodType> = all.ZodPrefault<T>;
  export type ZodPreprocess<B extends core.SomeType = core.$ZodType, I = unknown> =
    all.ZodPreprocess<B, I>;
  export type ZodPromise<T extends core.SomeType = core.$ZodType> = all.ZodPromise<T>;
  export type ZodRawShape = all.ZodRawShape;
  export type ZodReadonly<T extends core.SomeType = core.$ZodType> = all.ZodReadonly<T>;
  export type ZodRecord<
    Key extends core.$ZodRecordKey = core.$ZodRecordKey,
    Value extends core.SomeType = core.$ZodType,
  > = all.ZodRecord<Key, Value>;
  export type ZodSafeParseError<T> = all.ZodSafeParseError<T>;
  export type ZodSafeParseResult<T> = all.ZodSafeParseResult<T>;
  export type ZodSafeParseSuccess<T> = all.ZodSafeParseSuccess<T>;
  export type ZodSchema<
    Output = unknown,
    Input = unknown,
    Internals extends core.$ZodTypeInternals<Output, Input> = core.$ZodTypeInternals<Output, Input>,
  > = all.ZodSchema<Output, Input, Internals>;
  export type ZodSet<T extends core.SomeType = core.$ZodType> = all.ZodSet<T>;
  export type ZodStandardSchemaWithJSON<T> = all.ZodStandardSchemaWithJSON<T>;
  export type ZodString = all.ZodString;
  export type ZodStringFormat<Format extends string = string> = all.ZodStringFormat<Format>;
  export type ZodSuccess<T extends core.SomeType = core.$ZodType> = all.ZodSuccess<T>;
  export type ZodSymbol = all.ZodSymbol;
  export type ZodTemplateLiteral<Template extends string = string> = all.ZodTemplateLiteral<
    Template
  >;
  export type ZodTransform<O = unknown, I = unknown> = all.ZodTransform<O, I>;
  export type ZodTuple<
    T extends core.util.TupleItems = readonly core.$ZodType[],
    Rest extends core.SomeType | null = core.$ZodType | null,
  > = all.ZodTuple<T, Rest>;
  export type ZodType<
    Output = unknown,
    Input = unknown,
    Internals extends core.$ZodTypeInternals<Output, Input> = core.$ZodTypeInternals<Output, Input>,
  > = all.ZodType<Output, Input, Internals>;
  export type ZodTypeAny<
    Output = unknown,
    Input = unknown,
    Internals extends core.$ZodTypeInternals<Output, Input> = core.$ZodTypeInternals<Output, Input>,
  > = all.ZodTypeAny<Output, Input, Internals>;
  export type ZodUInt32 = all.ZodUInt32;
  export type ZodUInt64 = all.ZodUInt64;
  export type ZodULID = all.ZodULID;
  export type ZodURL = all.ZodURL;
  export type ZodUUID = all.ZodUUID;
  export type ZodUndefined = all.ZodUndefined;
  export type ZodUnion<T extends readonly core.SomeType[] = readonly core.$ZodType[]> =
    all.ZodUnion<T>;
  export type ZodUnknown = all.ZodUnknown;
  export type ZodVoid = all.ZodVoid;
  export type ZodXID = all.ZodXID;
  export type ZodXor<T extends readonly core.SomeType[] = readonly core.$ZodType[]> = all.ZodXor<T>;
  export type _ZodBigInt<T extends core.$ZodBigIntInternals = core.$ZodBigIntInternals> =
    all._ZodBigInt<T>;
  export type _ZodBoolean<T extends core.$ZodBooleanInternals = core.$ZodBooleanInternals> =
    all._ZodBoolean<T>;
  export type _ZodDate<T extends core.$ZodDateInternals = core.$ZodDateInternals> = all._ZodDate<T>;
  export type _ZodNumber<Internals extends core.$ZodNumberInternals = core.$ZodNumberInternals> =
    all._ZodNumber<Internals>;
  export type _ZodString<
    T extends core.$ZodStringInternals<unknown> = core.$ZodStringInternals<unknown>,
  > = all._ZodString<T>;
  export type _ZodType<Internals extends core.$ZodTypeInternals = core.$ZodTypeInternals> =
    all._ZodType<Internals>;
  export type infer<T> = all.infer<T>;
  export type inferFlattenedErrors<T extends core.$ZodType, U = string> = all.inferFlattenedErrors<
    T,
    U
  >;
  export type inferFormattedError<T extends core.$ZodType<any, any>, U = string> =
    all.inferFormattedError<T, U>;
  export type input<T> = all.input<T>;
  export type output<T> = all.output<T>;
}
