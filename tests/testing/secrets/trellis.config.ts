import type { TrellisConfig } from "../../../cli/mod.ts";

export default {
  infra: {
    environment: {
      PAYMENTS_CREDENTIAL: { secret: true },
      EXISTING_SECRET: { secret: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:a-AbCdEf" },
      MAIL_API_TOKEN: { variable: true },
      REGION_NAME: { variable: true, default: "north" },
      GREETING: "hello",
      PHOTOS: { bucket: "photos" },
      LOG_LEVEL: "DEBUG",
    },
    functions: { Values: { environment: { OWN: { parameter: true, secret: true } } } },
  },
} satisfies TrellisConfig;
