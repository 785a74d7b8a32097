import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';
import { SluiceError } from '../../src/errors.ts';

/** Gives each test an empty folder, and reads the settings there. */
export function useFolder() {
  const folder = { path: '' };
  beforeEach(() => {
    folder.path = mkdtempSync(join(tmpdir(), 'sluice-config-'));
  });
  afterEach(() => rmSync(folder.path, { recursive: true }));

  const read = (environment: Record<string, string>, needsSource = false, source?: string) =>
    readConfig({
      environment,
      directory: folder.path,
      needsSource,
      source,
      resources: ['customers', 'invoices', 'transactions'],
    });

  /** The message of the error that these settings cause. */
  function problems(environment: Record<string, string>, needsSource = false): string {
    try {
      read(environment, needsSource);
    } catch (error) {
      expect(error).toBeInstanceOf(SluiceError);
      expect((error as SluiceError).kind).toBe('configuration');
      return (error as SluiceError).message;
    }
    throw new Error('the settings were accepted');
  }

  return { folder, read, problems };
}
