import { expect, test } from 'vitest';
import { useFolder } from './use-folder.ts';

const { read, problems } = useFolder();

test('plain http is accepted for loopback only', () => {
  expect(problems({ SOURCE_URL: 'http://books.example.com' })).toContain('https');
  for (const url of ['http://127.0.0.1:4010', 'http://localhost', 'http://[::1]:80', 'https://books.example.com'])
    expect(read({ SOURCE_URL: url, SOURCE_API_KEY: 'k' }).sources[0]?.settings?.url).toBe(url);
});

test('an alert URL with user and password is refused, because fetch would reject it each time', () => {
  for (const url of [
    'https://me:secret-9@hooks.example.com/x',
    'https://secret-9@hooks.example.com',
    'http://:secret-9@localhost',
  ]) {
    const message = problems({ ALERT_WEBHOOK_URL: url });
    expect(message).toMatch(/ALERT_WEBHOOK_URL .*; expected an https:\/\/ URL .*without user and password\.$/m);
    expect(message).not.toContain('secret-9');
  }
  const url = 'https://hooks.example.com/services/T0/B0?key=a@b';
  expect(read({ ALERT_WEBHOOK_URL: url }).alertWebhookUrl).toBe(url);
});
