# The same for what starts Spark, for a master and for workers.
SPARK_LAUNCHER_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SPARK_DAEMON_JAVA_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
