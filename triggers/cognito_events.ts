import * as z from "zod";

const Texts = z.record(z.string(), z.string());
const OptionalTexts = Texts.nullish();

/** What all events of a Cognito user pool have. Return the event, with the response filled in. */
export interface CognitoEvent<TSource extends string, TRequest, TResponse> {
  /** Version of the event, such as `"1"`. */
  version: string;
  /** The region. */
  region: string;
  /** The user pool. */
  userPoolId: string;
  /** What happened, such as `PreSignUp_SignUp`. */
  triggerSource: TSource;
  /** The user's name in the pool; null while there is no user. */
  userName?: string | null;
  /** The caller. */
  callerContext: { awsSdkVersion: string; clientId: string };
  /** Data that Cognito sends with the event. */
  request: TRequest;
  /** What the function answers. */
  response: TResponse;
}

/** Attributes of the user, with the caller's own data. */
export interface CognitoUserRequest {
  /** The user's attributes, such as `email`. */
  userAttributes: Record<string, string>;
  /** Data of the call, for validation. */
  validationData?: Record<string, string> | null;
  /** Data of the call. */
  clientMetadata?: Record<string, string> | null;
}

const USER = {
  userAttributes: Texts,
  validationData: OptionalTexts,
  clientMetadata: OptionalTexts,
};

function cognitoEvent<TTrigger extends string, TRequest, TResponse>(
  trigger: TTrigger,
  request: z.ZodType<TRequest>,
  response: z.ZodType<TResponse>,
): z.ZodType<
  CognitoEvent<`${TTrigger}_${string}`, TRequest, TResponse>,
  CognitoEvent<`${TTrigger}_${string}`, TRequest, TResponse>
> {
  return z.looseObject({
    version: z.string(),
    region: z.string(),
    userPoolId: z.string(),
    triggerSource: z.string().startsWith(`${trigger}_`),
    userName: z.string().nullish(),
    callerContext: z.looseObject({ awsSdkVersion: z.string(), clientId: z.string() }),
    request,
    response,
  }) as never;
}

/** Before a sign-up. Throw to refuse it. */
export type CognitoPreSignUpEvent = CognitoEvent<
  `PreSignUp_${string}`,
  CognitoUserRequest,
  { autoConfirmUser?: boolean; autoVerifyEmail?: boolean; autoVerifyPhone?: boolean }
>;
/** Schema of {@link CognitoPreSignUpEvent}. */
export const CognitoPreSignUpEvent: z.ZodType<CognitoPreSignUpEvent, CognitoPreSignUpEvent> =
  cognitoEvent(
    "PreSignUp",
    z.looseObject(USER),
    z.looseObject({
      autoConfirmUser: z.boolean().optional(),
      autoVerifyEmail: z.boolean().optional(),
      autoVerifyPhone: z.boolean().optional(),
    }),
  );

/** After the confirmation of an account, or of a new password. */
export type CognitoPostConfirmationEvent = CognitoEvent<
  `PostConfirmation_${string}`,
  CognitoUserRequest,
  Record<string, unknown>
>;
/** Schema of {@link CognitoPostConfirmationEvent}. */
export const CognitoPostConfirmationEvent: z.ZodType<
  CognitoPostConfirmationEvent,
  CognitoPostConfirmationEvent
> = cognitoEvent(
  "PostConfirmation",
  z.looseObject(USER),
  z.looseObject({}),
);

/** Before a sign-in. Throw to refuse it. */
export type CognitoPreAuthenticationEvent = CognitoEvent<
  `PreAuthentication_${string}`,
  CognitoUserRequest & { userNotFound?: boolean },
  Record<string, unknown>
>;
/** Schema of {@link CognitoPreAuthenticationEvent}. */
export const CognitoPreAuthenticationEvent: z.ZodType<
  CognitoPreAuthenticationEvent,
  CognitoPreAuthenticationEvent
> = cognitoEvent(
  "PreAuthentication",
  z.looseObject({ ...USER, userNotFound: z.boolean().optional() }),
  z.looseObject({}),
);

/** After a sign-in. */
export type CognitoPostAuthenticationEvent = CognitoEvent<
  `PostAuthentication_${string}`,
  CognitoUserRequest & { newDeviceUsed?: boolean },
  Record<string, unknown>
>;
/** Schema of {@link CognitoPostAuthenticationEvent}. */
export const CognitoPostAuthenticationEvent: z.ZodType<
  CognitoPostAuthenticationEvent,
  CognitoPostAuthenticationEvent
> = cognitoEvent(
  "PostAuthentication",
  z.looseObject({ ...USER, newDeviceUsed: z.boolean().optional() }),
  z.looseObject({}),
);

/** Groups and roles of a token. */
export interface CognitoGroups {
  /** Names of the groups. */
  groupsToOverride?: string[] | null;
  /** ARNs of the roles of the groups. */
  iamRolesToOverride?: string[] | null;
  /** ARN of the preferred role. */
  preferredRole?: string | null;
}

/** Before tokens are made. `response` has `claimsOverrideDetails` in version 1, `claimsAndScopeOverrideDetails` later. */
export type CognitoPreTokenGenerationEvent = CognitoEvent<
  `TokenGeneration_${string}`,
  CognitoUserRequest & { groupConfiguration?: CognitoGroups; scopes?: string[] },
  { claimsOverrideDetails?: unknown; claimsAndScopeOverrideDetails?: unknown }
>;
/** Schema of {@link CognitoPreTokenGenerationEvent}. */
export const CognitoPreTokenGenerationEvent: z.ZodType<
  CognitoPreTokenGenerationEvent,
  CognitoPreTokenGenerationEvent
> = cognitoEvent(
  "TokenGeneration",
  z.looseObject({
    ...USER,
    groupConfiguration: z.looseObject({
      groupsToOverride: z.array(z.string()).nullish(),
      iamRolesToOverride: z.array(z.string()).nullish(),
      preferredRole: z.string().nullish(),
    }).optional(),
    scopes: z.array(z.string()).optional(),
  }),
  z.looseObject({
    claimsOverrideDetails: z.unknown().optional(),
    claimsAndScopeOverrideDetails: z.unknown().optional(),
  }),
);

/** Before a message is sent. The texts must contain `codeParameter`, or `linkParameter`. */
export type CognitoCustomMessageEvent = CognitoEvent<
  `CustomMessage_${string}`,
  CognitoUserRequest & {
    codeParameter: string;
    linkParameter?: string | null;
    usernameParameter?: string | null;
  },
  { smsMessage?: string | null; emailMessage?: string | null; emailSubject?: string | null }
>;
/** Schema of {@link CognitoCustomMessageEvent}. */
export const CognitoCustomMessageEvent: z.ZodType<
  CognitoCustomMessageEvent,
  CognitoCustomMessageEvent
> = cognitoEvent(
  "CustomMessage",
  z.looseObject({
    ...USER,
    codeParameter: z.string(),
    linkParameter: z.string().nullish(),
    usernameParameter: z.string().nullish(),
  }),
  z.looseObject({
    smsMessage: z.string().nullish(),
    emailMessage: z.string().nullish(),
    emailSubject: z.string().nullish(),
  }),
);

/** A challenge that a user has met, or not. */
export interface CognitoChallenge {
  /** Name of the challenge, such as `CUSTOM_CHALLENGE`. */
  challengeName: string;
  /** Whether the answer was right. */
  challengeResult: boolean;
  /** What the function that made the challenge noted. */
  challengeMetadata?: string | null;
}

const Challenges = z.array(z.looseObject({
  challengeName: z.string(),
  challengeResult: z.boolean(),
  challengeMetadata: z.string().nullish(),
}));

/** Decides the next challenge of a sign-in of your own. */
export type CognitoDefineAuthChallengeEvent = CognitoEvent<
  `DefineAuthChallenge_${string}`,
  CognitoUserRequest & { session: CognitoChallenge[]; userNotFound?: boolean },
  {
    challengeName?: string | null;
    failAuthentication?: boolean | null;
    issueTokens?: boolean | null;
  }
>;
/** Schema of {@link CognitoDefineAuthChallengeEvent}. */
export const CognitoDefineAuthChallengeEvent: z.ZodType<
  CognitoDefineAuthChallengeEvent,
  CognitoDefineAuthChallengeEvent
> = cognitoEvent(
  "DefineAuthChallenge",
  z.looseObject({ ...USER, session: Challenges, userNotFound: z.boolean().optional() }),
  z.looseObject({
    challengeName: z.string().nullish(),
    failAuthentication: z.boolean().nullish(),
    issueTokens: z.boolean().nullish(),
  }),
);

/** Makes a challenge. */
export type CognitoCreateAuthChallengeEvent = CognitoEvent<
  `CreateAuthChallenge_${string}`,
  CognitoUserRequest & {
    challengeName: string;
    session: CognitoChallenge[];
    userNotFound?: boolean;
  },
  {
    publicChallengeParameters?: Record<string, string> | null;
    privateChallengeParameters?: Record<string, string> | null;
    challengeMetadata?: string | null;
  }
>;
/** Schema of {@link CognitoCreateAuthChallengeEvent}. */
export const CognitoCreateAuthChallengeEvent: z.ZodType<
  CognitoCreateAuthChallengeEvent,
  CognitoCreateAuthChallengeEvent
> = cognitoEvent(
  "CreateAuthChallenge",
  z.looseObject({
    ...USER,
    challengeName: z.string(),
    session: Challenges,
    userNotFound: z.boolean().optional(),
  }),
  z.looseObject({
    publicChallengeParameters: OptionalTexts,
    privateChallengeParameters: OptionalTexts,
    challengeMetadata: z.string().nullish(),
  }),
);

/** Judges the answer to a challenge. */
export type CognitoVerifyAuthChallengeEvent = CognitoEvent<
  `VerifyAuthChallengeResponse_${string}`,
  CognitoUserRequest & {
    privateChallengeParameters: Record<string, string>;
    challengeAnswer: unknown;
    userNotFound?: boolean;
  },
  { answerCorrect?: boolean | null }
>;
/** Schema of {@link CognitoVerifyAuthChallengeEvent}. */
export const CognitoVerifyAuthChallengeEvent: z.ZodType<
  CognitoVerifyAuthChallengeEvent,
  CognitoVerifyAuthChallengeEvent
> = cognitoEvent(
  "VerifyAuthChallengeResponse",
  z.looseObject({
    ...USER,
    privateChallengeParameters: Texts,
    challengeAnswer: z.unknown(),
    userNotFound: z.boolean().optional(),
  }),
  z.looseObject({ answerCorrect: z.boolean().nullish() }),
);

/** A user whom the pool does not have signs in, or wants a new password: answer with the attributes to take over. */
export type CognitoUserMigrationEvent = CognitoEvent<
  `UserMigration_${string}`,
  {
    password?: string | null;
    validationData?: Record<string, string> | null;
    clientMetadata?: Record<string, string> | null;
  },
  {
    userAttributes?: Record<string, string> | null;
    finalUserStatus?: string | null;
    messageAction?: string | null;
    desiredDeliveryMediums?: string[] | null;
    forceAliasCreation?: boolean | null;
    enableSMSMFA?: boolean | null;
  }
>;
/** Schema of {@link CognitoUserMigrationEvent}. */
export const CognitoUserMigrationEvent: z.ZodType<
  CognitoUserMigrationEvent,
  CognitoUserMigrationEvent
> = cognitoEvent(
  "UserMigration",
  z.looseObject({
    password: z.string().nullish(),
    validationData: OptionalTexts,
    clientMetadata: OptionalTexts,
  }),
  z.looseObject({
    userAttributes: OptionalTexts,
    finalUserStatus: z.string().nullish(),
    messageAction: z.string().nullish(),
    desiredDeliveryMediums: z.array(z.string()).nullish(),
    forceAliasCreation: z.boolean().nullish(),
    enableSMSMFA: z.boolean().nullish(),
  }),
);

/** What an identity provider sent about a user. Which parts there are depends on the type of the provider. */
export interface CognitoFederatedAttributes {
  /** The answer of the token endpoint, with the tokens. Of OIDC and social providers. */
  tokenResponse?: Record<string, string> | null;
  /** Claims of the ID token. Of OIDC and social providers. */
  idToken?: Record<string, string> | null;
  /** The answer of the userinfo endpoint. Of OIDC and social providers. */
  userInfo?: Record<string, string> | null;
  /** Attributes of the assertion. Of SAML providers. */
  samlResponse?: Record<string, string> | null;
}

/**
 * A user signs in with another identity provider: answer with the attributes to store. Attributes that the answer does not
 * name are not stored; `{}` stores all.
 */
export type CognitoInboundFederationEvent = CognitoEvent<
  `InboundFederation_${string}`,
  { providerName: string; providerType: string; attributes: CognitoFederatedAttributes },
  { userAttributesToMap?: Record<string, string> | null }
>;
/** Schema of {@link CognitoInboundFederationEvent}. */
export const CognitoInboundFederationEvent: z.ZodType<
  CognitoInboundFederationEvent,
  CognitoInboundFederationEvent
> = cognitoEvent(
  "InboundFederation",
  z.looseObject({
    providerName: z.string(),
    providerType: z.string(),
    attributes: z.looseObject({
      tokenResponse: OptionalTexts,
      idToken: OptionalTexts,
      userInfo: OptionalTexts,
      samlResponse: OptionalTexts,
    }),
  }),
  z.looseObject({ userAttributesToMap: OptionalTexts }),
);
