import { z } from 'zod';
import { RESOURCE_FIELD_VALUES } from './resource-settings.ts';
import { SOURCE_SHAPE } from './schema.ts';
import { fieldOf, SOURCE_NAME } from './sources-file.ts';

/** For editors: what the sources file may hold, which is a list of sources, or an object that has it as `sources`. */
export function sourcesFileSchema() {
  const settings = Object.entries(SOURCE_SHAPE).map(([setting, value]) => [fieldOf(setting), valueSchema(value)]);
  const byResource = Object.entries(RESOURCE_FIELD_VALUES).map(([field, value]) => [
    field,
    { type: 'object', additionalProperties: valueSchema(value), description: 'By resource.' },
  ]);
  const source = {
    type: 'object',
    properties: {
      name: { type: 'string', pattern: SOURCE_NAME.source, description: 'The name of the source.' },
      api_key_from: { type: 'string', description: 'The environment variable that holds the key, such as VIENNA_KEY.' },
      ...Object.fromEntries([...settings, ...byResource]),
    },
    required: ['name', 'url', 'api_key_from'],
    additionalProperties: false,
  };
  const sources = { type: 'array', items: { $ref: '#/$defs/source' }, minItems: 1 };
  const properties = { $schema: { type: 'string' }, sources };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: { source },
    anyOf: [sources, { type: 'object', properties, required: ['sources'], additionalProperties: false }],
  };
}

/** A setting is checked as text; in JSON, it may be a number or, where it lists names, an array. */
function valueSchema(value: z.ZodType) {
  const { enum: choices } = z.toJSONSchema(value, { io: 'input', unrepresentable: 'any' });
  const description = `Expected: ${value.safeParse('\0').error?.issues[0]?.message}.`;
  if (choices) return { enum: choices, description };
  if (Array.isArray(value.safeParse(undefined).data)) {
    const names = { type: 'array', items: { type: 'string' } };
    return { anyOf: [names, { type: 'string' }], description };
  }
  return { type: ['string', 'number'], description };
}
