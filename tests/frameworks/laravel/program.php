<?php

use Illuminate\Contracts\Console\Kernel;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Foundation\Application;
use Illuminate\Queue\Events\JobFailed;

require 'Illuminate/autoload.php';
require __DIR__ . '/jobs.php';

$words = array_slice($argv, 2);
define('VERB', $argv[1]);
define('BROKEN', $words === ['failing']);

function say(array $line): void
{
    fwrite(STDOUT, json_encode($line, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES) . "\n");
}

/** The connection's part of config/database.php. */
function database(string $url): array
{
    if (str_starts_with($url, 'sqlite:')) {
        return ['driver' => 'sqlite', 'database' => substr($url, strlen('sqlite://')), 'foreign_key_constraints' => true];
    }
    $own = str_starts_with($url, 'mysql') ? ['charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci'] : ['charset' => 'utf8'];
    return ['driver' => str_starts_with($url, 'mysql') ? 'mysql' : 'pgsql', 'url' => $url, 'prefix' => ''] + $own;
}

/** A folder as an application has one; it is gone with this process. */
function application(string $database): Application
{
    $folder = sys_get_temp_dir() . '/dlq-laravel-' . getmypid();
    foreach (['config', 'bootstrap/cache', 'database/migrations', 'storage/logs'] as $part) {
        mkdir("$folder/$part", 0700, true);
    }
    register_shutdown_function(fn () => (new Illuminate\Filesystem\Filesystem)->deleteDirectory($folder));
    $queue = ['driver' => 'database', 'table' => 'jobs', 'queue' => 'default', 'retry_after' => 90];
    $config = [
        'app' => [
            'name' => 'shop', 'env' => 'testing', 'debug' => false, 'timezone' => 'UTC', 'locale' => 'en',
            'key' => 'base64:' . base64_encode(str_repeat('k', 32)), 'cipher' => 'AES-256-CBC',
            'providers' => [
                Illuminate\Bus\BusServiceProvider::class,
                Illuminate\Cache\CacheServiceProvider::class,
                Illuminate\Database\DatabaseServiceProvider::class,
                Illuminate\Encryption\EncryptionServiceProvider::class,
                Illuminate\Filesystem\FilesystemServiceProvider::class,
                Illuminate\Queue\QueueServiceProvider::class,
                Illuminate\Foundation\Providers\ArtisanServiceProvider::class,
                Illuminate\Database\MigrationServiceProvider::class,
                Illuminate\Foundation\Providers\ComposerServiceProvider::class,
            ],
        ],
        'cache' => ['default' => 'array', 'stores' => ['array' => ['driver' => 'array']], 'prefix' => 'shop'],
        'database' => ['default' => 'main', 'connections' => ['main' => database($database)], 'migrations' => 'migrations'],
        'logging' => ['default' => 'null', 'channels' => ['null' => ['driver' => 'monolog', 'handler' => Monolog\Handler\NullHandler::class]]],
        'queue' => [
            'default' => 'database',
            'connections' => ['database' => $queue],
            'failed' => ['driver' => 'database-uuids', 'database' => 'main', 'table' => 'failed_jobs'],
            'batching' => ['database' => 'main', 'table' => 'job_batches'],
        ],
    ];
    foreach ($config as $name => $part) {
        file_put_contents("$folder/config/$name.php", '<?php return ' . var_export($part, true) . ';');
    }
    $app = new Application($folder);
    $app->singleton(Kernel::class, Illuminate\Foundation\Console\Kernel::class);
    $app->singleton(ExceptionHandler::class, Illuminate\Foundation\Exceptions\Handler::class);
    return $app;
}

function enqueue(string $kind, string $marker): void
{
    $job = match ($kind) {
        'encrypted' => new Shop\Secret($kind, $marker),
        'hurried' => new Shop\Hurried($kind, $marker),
        'mailers' => (new Shop\Charge($kind, $marker))->onQueue('mailers'),
        default => new Shop\Charge($kind, $marker),
    };
    $id = app(Illuminate\Contracts\Bus\Dispatcher::class)->dispatch($job);
    say(['enqueued' => $marker, 'kind' => $kind, 'id' => (string) $id]);
}

$artisan = application(getenv('DATABASE_URL'))->make(Kernel::class);
$artisan->bootstrap();
$call = function (string $command, array $options = []) use ($artisan): void {
    $code = $artisan->call($command, $options);
    if ($code !== 0) {
        fwrite(STDERR, "$command ended with $code: " . $artisan->output());
        exit($code);
    }
};
switch (VERB) {
    case 'install':
        foreach (['queue:table', 'queue:failed-table', 'queue:batches-table'] as $command) {
            $call($command);
        }
        $call('migrate', ['--force' => true]);
        break;
    case 'enqueue':
        foreach ($words as $word) {
            enqueue(...explode('/', $word, 2));
        }
        break;
    case 'work':
        // A job that is out of time before a worker comes to it fails without running.
        Illuminate\Support\Facades\Event::listen(function (JobFailed $event) {
            $command = $event->job->payload()['data']['command'];
            $job = str_contains($command, 'Hurried') ? unserialize($command) : null;
            if ($job && !isset($job::$ran[$job->marker])) {
                $told = ['class' => $event->exception::class, 'message' => $event->exception->getMessage()];
                say(['ran' => $job->marker, 'kind' => $job->kind, 'ok' => false] + $told);
            }
        });
        do {
            $call('queue:work', ['--stop-when-empty' => true, '--sleep' => 0, '--queue' => 'default,mailers']);
            usleep(50_000);
            // Two seconds are now: who puts a job back may round.
            $left = Illuminate\Support\Facades\DB::table('jobs')->where('available_at', '<=', time() + 2);
        } while ($left->exists());
        break;
    case 'retry':
        $call('queue:retry', ['id' => $words]);
        foreach ($words as $id) {
            say(['retried' => $id]);
        }
        break;
    case 'delete':
        foreach ($words as $id) {
            $call('queue:forget', ['id' => $id]);
        }
        break;
    default:
        fwrite(STDERR, "no such verb: " . VERB . "\n");
        exit(2);
}
